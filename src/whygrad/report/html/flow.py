"""Gradient flow per layer, histograms raw against clipped, update ratios: over the run and in its phases."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from whygrad.report.flow import Bar, Layer, layers
from whygrad.report.html.drawing import framed, octaves, outline, sparkline
from whygrad.report.html.markup import Markup, data, el, joined
from whygrad.report.model import Report
from whygrad.report.numbers import number, percent
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.phases import Level, Modules, Phase
from whygrad.telemetry.series import Series
from whygrad.telemetry.summary import Summary

MOST_MULTIPLES = 48
MOST_ROWS = 80
"""Layers; of a deeper network neighbours are taken together."""
LEAST = 1e-12
Frame = tuple[int, int, float]
"""Of a histogram: the powers of two that it spans, and the largest share."""


def flow(report: Report) -> Markup:
    summary = report.telemetry
    each = layers(summary) if summary is not None else []
    if summary is None or not each:
        sampled = summary.samples if summary is not None else 0
        said = (
            f"No parameter had a gradient in any of {sampled} sampled updates" if sampled else "No update was sampled"
        )
        return el(
            "section", el("h2", "Gradient flow"), el("p", f"{said}: there is nothing to draw.", cls="calm"), id="flow"
        )
    phases, modules = summary.phases, _modules(summary)
    scale = Scale(each, phases)
    frames = {name: _frame(name, both, phases) for name, both in modules.items()}
    groups = _groups([layer.name for layer in each])
    rate = summary.clip_rate
    clips = f"; {percent(rate)} of them clipped" if rate is not None else ""
    said = f"{summary.samples} sampled updates{clips}. Layers from the first to the last"
    said += f", {len(groups[0])} neighbours in a row." if len(groups) < len(each) else "."
    return el(
        "section",
        el("h2", "Gradient flow"),
        el("p", said, cls="calm"),
        _slider(len(phases)),
        _bars(_together(each, groups), scale),
        _histograms(modules, frames),
        _over_time(summary),
        data("flow-data", _phases(phases, scale, groups, frames)),
        id="flow",
    )


class Scale:
    """One logarithmic axis for all bars of the run and of its phases."""

    def __init__(self, found: list[Layer], phases: list[Phase]) -> None:
        bars: list[Bar | Level] = [b for layer in found for b in (layer.raw, layer.clipped) if b is not None]
        bars += [v for phase in phases for levels in phase.layers.values() for v in levels if v.samples]
        values = [v for bar in bars for v in (bar.mean, bar.largest) if v > LEAST]
        self.low = math.floor(math.log10(min(values))) if values else -1
        self.high = max(math.ceil(math.log10(max(values))) if values else 0, self.low + 1)

    def place(self, value: float) -> float:
        """Hundredths of the width."""
        if value <= LEAST:
            return 0.0
        return round(max(0.0, (math.log10(value) - self.low) / (self.high - self.low)) * 100, 1)


def _groups(names: list[str]) -> list[list[str]]:
    size = math.ceil(len(names) / MOST_ROWS)
    return [names[start : start + size] for start in range(0, len(names), size)]


def _together(each: list[Layer], groups: list[list[str]]) -> list[Layer]:
    if len(groups) == len(each):
        return each
    named = {layer.name: layer for layer in each}
    out = []
    for group in groups:
        members = [named[name] for name in group]
        title = f"{group[0]} … {group[-1]}" if len(group) > 1 else group[0]
        raw, clipped = _merged([m.raw for m in members]), _merged([m.clipped for m in members])
        out.append(Layer(title, Bar(*raw) if raw else None, Bar(*clipped) if clipped else None))
    return out


def _merged(bars: Iterable[Bar | Level | None]) -> tuple[float, float, float] | None:
    """Root mean square, largest value and share of zeros of several layers."""
    seen = [bar for bar in bars if bar is not None]
    if not seen:
        return None
    mean = math.hypot(*(bar.mean / math.sqrt(len(seen)) for bar in seen))
    return mean, max(bar.largest for bar in seen), sum(bar.zeros for bar in seen) / len(seen)


def _slider(last: int) -> Markup | None:
    if last < 2:
        return None
    control = el("input", type="range", id="phase", min="0", max=str(last), value="0", step="1")
    label = el("label", "phase of the run ", control, " ", el("output", "whole run", id="phase-said", for_="phase"))
    return el("p", label, cls="slider", hidden=True, id="slider")


def _bars(found: list[Layer], scale: Scale) -> Markup:
    heads = _heads("layer", "gradient", "mean", "largest", "zeros")
    rows = [_bar_row(index, layer, scale) for index, layer in enumerate(found)]
    legend = el(
        "ul",
        el("li", el("span", cls="swatch raw"), " raw"),
        el("li", el("span", cls="swatch clipped"), " as the step saw it"),
        el("li", f"bar: root mean square; tick: largest value; logarithmic, 1e{scale.low} to 1e{scale.high}"),
        cls="legend",
    )
    table = el("table", el("thead", el("tr", heads)), el("tbody", rows), cls="bars")
    return el(
        "div", legend, el("div", table, cls="scroll tall", tabindex="0", role="region", aria_label="Gradient per layer")
    )


def _heads(*words: str) -> list[Markup]:
    numbers = ("mean", "largest", "zeros", "latest")
    return [el("th", word, scope="col", cls="number" if word in numbers else None) for word in words]


def _bar_row(index: int, layer: Layer, scale: Scale) -> Markup:
    shown = layer.raw or layer.clipped
    drawn = joined(
        [
            _bar(layer.raw, scale, "raw", 0),
            _bar(layer.clipped, scale, "clipped", 10),
        ]
    )
    numbers = [number(shown.mean), number(shown.largest), percent(shown.zeros)] if shown is not None else ["–"] * 3
    cells = [el("td", value, cls="number") for value in numbers]
    return el("tr", el("th", layer.name, scope="row"), el("td", framed(drawn, "bar")), cells, data_layer=index)


def _bar(bar: Bar | None, scale: Scale, cls: str, top: int) -> Markup:
    mean, largest = (scale.place(bar.mean), scale.place(bar.largest)) if bar is not None else (0.0, -5.0)
    return Markup(
        f'<rect class="{cls}" y="{top + 1}" width="{mean:g}" height="8"/>'
        f'<rect class="{cls}" x="{largest - 0.6:g}" y="{top}" width="1.2" height="10"/>'
    )


def _modules(summary: Summary) -> Modules:
    return dict(list(summary.modules().items())[:MOST_MULTIPLES])


def _histograms(modules: Modules, frames: dict[str, Frame]) -> Markup:
    figures = []
    for index, (name, both) in enumerate(modules.items()):
        low, high, most = frames[name]
        drawn = joined(
            Markup(f'<path class="{cls}" d="{outline(octaves(h), low, high, most)}"/>')
            for h, cls in zip(both, ("raw", "clipped"), strict=True)
        )
        zeros = both[0] if both[0].total else both[1]
        share = percent(zeros.zeros / zeros.total if zeros.total else None)
        said = [el("code", name), f" {number(2.0**low)} to {number(2.0 ** (high + 1))}, zeros {share}"]
        figures.append(el("figure", framed(drawn, "histogram", 60), el("figcaption", said), data_module=index))
    return el("div", el("h3", "Magnitudes, raw against clipped"), el("div", figures, cls="multiples"))


def _frame(name: str, both: tuple[Histogram, Histogram], phases: list[Phase]) -> Frame:
    """One axis for the whole run and every phase of a module."""
    everything = [*both, *(h for p in phases for h in p.modules.get(name, ()))]
    counted = [octaves(h) for h in everything]
    powers = [power for counts in counted for power in counts] or [0]
    shares = [max(c.values()) / sum(c.values()) for c in counted if c]
    return min(powers), max(powers), max(shares, default=1.0)


def _over_time(summary: Summary) -> Markup:
    """Norms and update ratios of each layer, small and side by side."""
    ratios: dict[str, Series] = {}
    for parameter in sorted(summary.parameters.values(), key=lambda p: -p.size):
        if parameter.ratio.points:
            ratios.setdefault(parameter.layer, parameter.ratio)
    rows = []
    for name in list(summary.norms)[:MOST_MULTIPLES]:
        norm, ratio = summary.norms[name].shown(), ratios[name].shown() if name in ratios else []
        cells = [_series(norm), _series(ratio)]
        rows.append(el("tr", el("th", name, scope="row"), cells))
    left = len(summary.norms) - len(rows)
    more = el("p", f"and {left} more layers, in the raw data", cls="calm") if left else None
    heads = _heads("layer", "norm over time", "latest", "update ratio over time", "latest")
    table = el("table", el("thead", el("tr", heads)), el("tbody", rows), cls="courses")
    box = el(
        "div", table, cls="scroll tall", tabindex="0", role="region", aria_label="Norms and update ratios over time"
    )
    note = el("p", "Update ratio: how far a step moves the weights, over their size. About 1e-3 is usual.", cls="calm")
    return el("div", el("h3", "Over time"), note, box, more)


def _series(points: list[tuple[int, float]]) -> list[Markup]:
    latest = number(points[-1][1]) if points else "–"
    return [el("td", framed(sparkline(points), "spark")), el("td", latest, cls="number")]


def _phases(
    phases: list[Phase], scale: Scale, groups: list[list[str]], frames: dict[str, Frame]
) -> list[dict[str, Any]]:
    nothing = (Histogram(), Histogram())
    return [
        {
            "said": f"updates {phase.first} to {phase.last}" if phase.last > phase.first else f"update {phase.first}",
            "layers": [[_level(phase, group, kind, scale) for kind in (0, 1)] for group in groups],
            "modules": [
                [outline(octaves(h), *frames[name]) for h in phase.modules.get(name, nothing)] for name in frames
            ],
        }
        for phase in phases
    ]


def _level(phase: Phase, group: list[str], kind: int, scale: Scale) -> list[Any] | None:
    levels = [phase.layers[name][kind] for name in group if name in phase.layers]
    found = _merged(level for level in levels if level.samples)
    if found is None:
        return None
    mean, largest, zeros = found
    return [scale.place(mean), scale.place(largest), number(mean), number(largest), percent(zeros)]
