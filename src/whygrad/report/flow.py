"""Gradient flow per layer in depth order, drawn as SVG: the picture that people paste a snippet for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from whygrad import visible
from whygrad.telemetry.summary import Course, Summary

WIDTH, LEFT, RIGHT, TOP = 860, 70, 24, 64
PANEL, SMALL, GAP = 240, 70, 34
LABELS = 150
RAW, CLIPPED, FAINT, TEXT = "#2a6fb0", "#d9822b", "#d8dde3", "#333"
_FONT = "font-family:system-ui,sans-serif"
LEAST = 1e-12
"""Where a logarithmic axis ends; what is smaller is drawn at its foot."""
MOST = 1e300
"""Where it ends above, short of the largest number there is."""


class NoTelemetryError(ValueError):
    """There is nothing to draw; the message says why."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One kind of gradient of one layer over the run."""

    mean: float
    """Root mean square of its values."""
    largest: float
    zeros: float


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    raw: Bar | None
    clipped: Bar | None


def layers(summary: Summary) -> list[Layer]:
    groups: dict[str, list[tuple[int, Course, Course]]] = {}
    for parameter in summary.parameters.values():
        groups.setdefault(parameter.layer, []).append((parameter.size, parameter.raw, parameter.clipped))
    return [
        Layer(name, _bar([(n, raw) for n, raw, _ in rows]), _bar([(n, clipped) for n, _, clipped in rows]))
        for name, rows in groups.items()
    ]


def _bar(rows: list[tuple[int, Course]]) -> Bar | None:
    seen = [(size, course) for size, course in rows if course.samples]
    if not seen:
        return None
    total = max(sum(size for size, _ in seen), 1)
    mean = math.hypot(*(course.mean * math.sqrt(size / total) for size, course in seen))
    zeros = sum(course.zeros * size for size, course in seen) / total
    return Bar(min(mean, MOST), min(max(course.largest for _, course in seen), MOST), zeros)


class FlowPlot:
    """The drawing; a notebook shows it by itself."""

    def __init__(self, summary: Summary | None, title: str = "") -> None:
        self.layers = layers(summary) if summary is not None else []
        if summary is None or not self.layers:
            raise NoTelemetryError("no gradients were sampled in this run, so there is nothing to draw")
        rate = summary.clip_rate
        clips = f", {rate:.0%} of them clipped" if rate is not None else ""
        self.title = title or "Gradient flow"
        self.subtitle = f"{summary.samples} sampled updates{clips}; from the first layer to the last"

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def svg(self) -> str:
        height = TOP + PANEL + GAP + SMALL + LABELS
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" style="{_FONT}">',
            f"<title>{escape(visible.line(self.title))}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            _text(LEFT, 24, short(self.title, 60), size=16),
            _text(LEFT, 42, self.subtitle, size=12, colour="#666"),
            *_legend(),
            *self._magnitudes(),
            *self._zeros(),
            *self._names(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    @property
    def _slot(self) -> float:
        return (WIDTH - LEFT - RIGHT) / len(self.layers)

    def _bars(self) -> list[tuple[float, float, str, Bar]]:
        """Left edge, width, colour and data of every bar."""
        width = min(self._slot * 0.36, 22.0)
        out = []
        for index, layer in enumerate(self.layers):
            middle = LEFT + (index + 0.5) * self._slot
            for edge, colour, bar in ((middle - width, RAW, layer.raw), (middle, CLIPPED, layer.clipped)):
                if bar is not None:
                    out.append((edge, width, colour, bar))
        return out

    def decades(self) -> tuple[int, int]:
        """Powers of ten that the logarithmic axis spans."""
        values = [v for _, _, _, bar in self._bars() for v in (bar.mean, bar.largest) if v > LEAST]
        low, high = (min(values), max(values)) if values else (0.1, 1.0)
        first = math.floor(math.log10(low))
        return first, max(math.ceil(math.log10(high)), first + 1)

    def _magnitudes(self) -> list[str]:
        low, high = self.decades()
        foot = TOP + PANEL

        def y(value: float) -> float:
            power = math.log10(max(value, 10.0**low))
            return foot - PANEL * (power - low) / (high - low)

        out = []
        for power in range(low, high + 1, max(1, (high - low) // 6)):
            level = y(10.0**power)
            out.append(_line(LEFT, level, WIDTH - RIGHT, level, FAINT))
            out.append(_text(LEFT - 8, level + 4, f"1e{power}", anchor="end"))
        out.append(
            _text(LEFT, TOP - 6, "gradient: root mean square (bar) and largest value (tick)", size=11, colour="#666")
        )
        for edge, width, colour, bar in self._bars():
            out.append(_box(edge, y(bar.mean), width, foot - y(bar.mean), colour))
            out.append(_line(edge, y(bar.largest), edge + width, y(bar.largest), colour, 2))
        return out

    def _zeros(self) -> list[str]:
        top = TOP + PANEL + GAP
        out = [_text(LEFT, top - 6, "share of values that are exactly zero", size=11, colour="#666")]
        for share in (0.0, 0.5, 1.0):
            level = top + SMALL * (1 - share)
            out.append(_line(LEFT, level, WIDTH - RIGHT, level, FAINT))
            out.append(_text(LEFT - 8, level + 4, f"{share:.0%}", anchor="end"))
        for edge, width, colour, bar in self._bars():
            out.append(_box(edge, top + SMALL * (1 - bar.zeros), width, SMALL * bar.zeros, colour))
        return out

    def _names(self) -> list[str]:
        top = TOP + PANEL + GAP + SMALL + 14
        every = max(1, math.ceil(12 / self._slot))
        out = []
        for index, layer in enumerate(self.layers):
            if index % every == 0:
                x = LEFT + (index + 0.5) * self._slot
                out.append(_text(x, top, short(layer.name, 26), anchor="end", turn=-50))
        return out


def short(words: str, most: int) -> str:
    """The end of a name says more than its beginning."""
    return words if len(words) <= most else "…" + words[1 - most :]


def _legend() -> list[str]:
    out = []
    for x, colour, word in ((WIDTH - 210, RAW, "raw"), (WIDTH - 140, CLIPPED, "as the step saw it")):
        out += [_box(x, 15, 10, 10, colour), _text(x + 15, 24, word)]
    return out


def _text(
    x: float, y: float, words: str, *, size: int = 11, colour: str = TEXT, anchor: str = "start", turn: int = 0
) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    style = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}{turned}>{escape(visible.line(words))}</text>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 0):.1f}" fill="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'
