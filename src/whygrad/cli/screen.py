"""What `whygrad top` shows of a run at one moment."""

from __future__ import annotations

import math

from rich.console import Group
from rich.table import Table
from rich.text import Text

from whygrad.report.numbers import number, percent
from whygrad.report.styled import styled
from whygrad.sinks.watching import Row, Watched

BLOCKS = "▁▂▃▄▅▆▇█"
SPARK = 24
AROUND = 6
"""Lines that are not layers: heading, header, rules and the way out."""


def screen(shown: Watched, height: int) -> Group:
    rows = shown.rows
    if len(rows) > max(height - AROUND, 1):
        rows = modules(rows)
    table = Table(expand=True, box=None, pad_edge=False)
    table.add_column("module", no_wrap=True, ratio=1)
    for heading in ("raw norm", "clipped norm", "clip rate", "update ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("raw norm over time", no_wrap=True, width=SPARK)
    for row in rows[: max(height - AROUND, 1)]:
        numbers = [number(row.raw), number(row.clipped), percent(row.clip_rate), number(row.ratio)]
        table.add_row(styled(row.layer), *numbers, sparkline(row.series[-SPARK:]))
    return Group(_heading(shown), table, styled("q quits; the run goes on", style="dim"))


def _heading(shown: Watched) -> Text:
    pace = f"{shown.pace:.1f} updates/s" if shown.pace is not None else ""
    clock = f"{int(shown.seconds) // 3600}:{int(shown.seconds) // 60 % 60:02}:{int(shown.seconds) % 60:02}"
    losses = [f"{name} {number(value)}" for name, value in list(shown.losses.items())[:3]]
    parts = [f"update {shown.update}", pace, clock, *losses]
    return styled((shown.script, "bold"), "   ", "   ".join(part for part in parts if part))


def modules(rows: list[Row]) -> list[Row]:
    """Whole networks, where their layers do not fit on the screen."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.module, []).append(row)
    return [_together(name, members) for name, members in groups.items()]


def _together(name: str, members: list[Row]) -> Row:
    raw = [row.raw for row in members if row.raw is not None]
    clipped = [row.clipped for row in members if row.clipped is not None]
    length = min(len(row.series) for row in members)
    return Row(
        name,
        name,
        math.hypot(*raw) if raw else None,
        math.hypot(*clipped) if clipped else None,
        max((row.ratio for row in members if row.ratio is not None), default=None),
        max((row.clip_rate for row in members if row.clip_rate is not None), default=None),
        [math.hypot(*(row.series[place - length] for row in members)) for place in range(length)],
    )


def sparkline(values: list[float]) -> str:
    """On a logarithmic scale, as gradients need it."""
    logs = [math.log10(value) if value > 0 else None for value in values]
    known = [value for value in logs if value is not None]
    if not known:
        return " " * len(values)
    low, span = min(known), (max(known) - min(known)) or 1.0
    return "".join(
        BLOCKS[min(int((value - low) / span * len(BLOCKS)), len(BLOCKS) - 1)] if value is not None else " "
        for value in logs
    )
