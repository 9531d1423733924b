"""The same picture as PNG, for which matplotlib is needed."""

from __future__ import annotations

from pathlib import Path

from whygrad.report.flow import CLIPPED, LEAST, RAW, FlowPlot


class PngError(Exception):
    """No PNG can be made; the message names the way out."""


def save(plot: FlowPlot, file: Path) -> None:
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
    # A dollar sign in a name would start mathematics.
    above.set_title(f"{plot.title}\n{plot.subtitle}".replace("$", r"\$"))
    below.set(ylim=(0, 1), ylabel="share of zeros")
    names = [layer.name.replace("$", r"\$") for layer in plot.layers]
    below.set_xticks(range(len(plot.layers)), names, rotation=50, ha="right")
    figure.savefig(file, dpi=120, format="png")
