"""The same picture as PNG, for which matplotlib is needed."""

from __future__ import annotations

import io
from pathlib import Path

from whygrad import visible
from whygrad.report.flow import CLIPPED, LEAST, RAW, FlowPlot, short


class PngError(Exception):
    """No PNG can be made; the message names the way out."""


def png(plot: FlowPlot, file: Path) -> bytes:
    """The picture, for a file of that name."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        other = file.with_suffix(".svg").name
        raise PngError(f"a PNG needs matplotlib (pip install matplotlib); without it: -o {other}") from error
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for shift, colour, word, bars in (
        (-0.2, RAW, "raw", [layer.raw for layer in plot.layers]),
        (0.2, CLIPPED, "as the step saw it", [layer.clipped for layer in plot.layers]),
    ):
        seen = [(place + shift, bar) for place, bar in enumerate(bars) if bar is not None]
        places = [place for place, _ in seen]
        above.bar(places, [max(bar.mean, LEAST) for _, bar in seen], 0.4, color=colour, label=word)
        above.scatter(places, [max(bar.largest, LEAST) for _, bar in seen], marker="_", color=colour)
        below.bar(places, [bar.zeros for _, bar in seen], 0.4, color=colour)
    low, high = plot.decades()
    above.set(yscale="log", ylim=(10.0**low, 10.0**high), ylabel="root mean square, largest (–)")
    above.legend()
    above.set_title(f"{_shown(plot.title)}\n{plot.subtitle}")
    below.set(ylim=(0, 1), ylabel="share of zeros")
    names = [_shown(layer.name) for layer in plot.layers]
    below.set_xticks(range(len(plot.layers)), names, rotation=50, ha="right")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    return picture.getvalue()


def _shown(name: str) -> str:
    """A dollar sign would start mathematics, and a long name leaves no room for the picture."""
    return short(visible.line(name), 60).replace("$", r"\$")
