"""Small drawings: bars, sparklines and histograms as SVG without a single style of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whygrad.report.html.markup import Markup
from whygrad.telemetry.histogram import LOWEST, Histogram

WIDE, HIGH = 100, 20
POINTS = 24
LEAST = 1e-12


def sparkline(points: Sequence[tuple[int, float]], name: str = "") -> Markup:
    """On a logarithmic scale, as gradients need it; zeros lie on the floor."""
    shown = _thinned(points)
    if len(shown) < 2:
        return Markup("")
    logs = [math.log10(max(value, LEAST)) for _, value in shown]
    known = [log for log in logs if log > math.log10(LEAST)] or [0.0]
    low, span = min(known), (max(known) - min(known)) or 1.0
    first, length = shown[0][0], max(shown[-1][0] - shown[0][0], 1)
    places = [
        f"{round((update - first) / length * WIDE)} {round(HIGH - 2 - max(log - low, 0) / span * (HIGH - 4))}"
        for (update, _), log in zip(shown, logs, strict=True)
    ]
    identity = f' id="{name}"' if name else ""
    return Markup(f'<path{identity} d="M{"L".join(places)}"/>')


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    if len(points) <= POINTS:
        return list(points)
    return [points[round(i * (len(points) - 1) / (POINTS - 1))] for i in range(POINTS)]


def framed(inside: Markup, cls: str, high: int = HIGH) -> Markup:
    box = f'viewBox="0 0 {WIDE} {high}" preserveAspectRatio="none"'
    return Markup(f'<svg class="{cls}" {box} aria-hidden="true">{inside}</svg>')


def octaves(histogram: Histogram) -> dict[int, int]:
    """Counts by power of two of the magnitude, both signs together."""
    out: dict[int, int] = {}
    for place, count in histogram.counts.items():
        power = (abs(place) - 1) // 2 + LOWEST
        out[power] = out.get(power, 0) + count
    return out


def outline(counts: dict[int, int], low: int, high: int, most: float) -> str:
    """The shares between two powers of two as the path of an area; nothing for no counts."""
    total = sum(counts.values())
    if not total:
        return ""
    step = WIDE / (high - low + 1)
    steps = []
    for index, power in enumerate(range(low, high + 1)):
        level = 60 - round(counts.get(power, 0) / total / most * 58, 1)
        steps.append(f"V{level:g}H{round((index + 1) * step, 1):g}")
    return f"M0 60{''.join(steps)}V60Z"
