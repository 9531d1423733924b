"""Who trains whom, in a few lines."""

from __future__ import annotations

import os

from rich.text import Text

from whygrad.report.model import LossRow

MOST_ROWS = 6
HEAD = ("loss", "trains", "does not reach", "consumed by")


def losses(rows: list[LossRow], width: int) -> list[Text]:
    """One line per loss; columns as wide as they need to be."""
    if not rows:
        return []
    cells = [HEAD, *(_cells(row) for row in rows[:MOST_ROWS])]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    while sum(widths) + 3 * len(widths) > width and max(widths) > 12:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    out = []
    for index, row in enumerate(cells):
        line = "  ".join(_fit(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        out.append(Text(line, "dim" if index == 0 else ""))
    if len(rows) > MOST_ROWS:
        out.append(Text(f"and {len(rows) - MOST_ROWS} more losses", "dim"))
    return out


def _cells(row: LossRow) -> tuple[str, str, str, str]:
    place = f" {os.path.basename(row.site.file)}:{row.site.line}" if row.site is not None else ""
    trains = ", ".join(f"{module} {share}" for module, share in row.trains.items()) or "nothing"
    others = ", ".join(f"{module}: {reason}" for module, reason in row.not_reached.items())
    return f"{row.name}{place}", trains, others, ", ".join(row.consumed_by) or "nobody"


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
