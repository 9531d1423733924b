"""Who trains whom, in a few lines."""

from __future__ import annotations

import textwrap

from rich.text import Text

from whygrad.report.model import LossRow, MatrixCell, MatrixRow, Report
from whygrad.report.numbers import fine_percent, number, percent
from whygrad.report.styled import styled
from whygrad.wording import short

LONGEST_NAME = 60
"""Names up to here are padded to the same length."""
HEAD = ("loss", "trains", "does not reach", "consumed by")
Row = tuple[str, str, str, str]


def losses(report: Report, width: int, most: int) -> list[Text]:
    """A line per loss and, under a sum, a line per term, in so many lines; columns as wide as they need to be."""
    if not report.losses:
        return []
    rows, left_out = _fitting(_rows(report), most - 1)
    cells = [HEAD, *rows]
    widths = [min(width, max(len(row[i]) for row in cells)) for i in range(len(HEAD))]
    while sum(widths) + 3 * len(widths) > width and max(widths) > 12:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    out = []
    for index, row in enumerate(cells):
        line = "  ".join(_fit(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        out.append(styled(line, style="dim" if index == 0 else ""))
    if left_out:
        more = "1 more row" if left_out == 1 else f"{left_out} more rows"
        out.append(styled(f"and {more}: whygrad report --matrix", style="dim"))
    return out


def _fitting(rows: list[tuple[bool, Row]], most: int) -> tuple[list[Row], int]:
    """As many rows as there is room for, losses before terms, and how many that leaves out."""
    if len(rows) <= most:
        return [row for _, row in rows], 0
    order = sorted(range(len(rows)), key=lambda i: (rows[i][0], i))
    kept = sorted(order[: max(1, most - 1)])
    return [rows[i][1] for i in kept], len(rows) - len(kept)


def whole(report: Report) -> list[Text]:
    """Every loss, term and module, with norms, shares, angles and who consumed or discarded it."""
    if not report.matrix:
        return [styled("no loss was traced in this run, so there is nothing to show")]
    out: list[Text] = []
    for row in report.matrix:
        place = short(row.site) if row.site is not None else ""
        title = f"{row.loss}: {row.term}" if row.term else row.loss
        out.append(styled((title, "bold"), f"  {place}"))
        width = min(max((len(module) for module in row.cells), default=0), LONGEST_NAME)
        out += [styled(f"  {module.ljust(width)}  {detail(cell)}") for module, cell in row.cells.items()]
        for module, angles in row.cosines.items():
            said = ", ".join(f"{cosine:+.2f} with {other}" for other, cosine in angles.items())
            out.append(styled(f"  {module.ljust(width)}  cosine {said}", style="dim"))
    return out


def roles(found: dict[str, str], width: int) -> list[Text]:
    if not found:
        return []
    said = "roles: " + ", ".join(f"{module} {role}" for module, role in found.items())
    return [styled(textwrap.shorten(said, max(width, 100), placeholder=" …"), style="dim")]


def _rows(report: Report) -> list[tuple[bool, Row]]:
    """Rows in order, each with whether it is a term of the loss above it."""
    rows: list[tuple[bool, Row]] = []
    for loss in report.losses:
        rows.append((False, _cells(loss)))
        parts = [row for row in report.matrix if row.term and row.loss == loss.name and row.term in loss.terms]
        rows += [(True, _term(row)) for row in parts]
    return rows


def _cells(row: LossRow) -> Row:
    place = f" {short(row.site)}" if row.site is not None else ""
    trains = ", ".join(f"{module} {share}" for module, share in row.trains.items()) or "nothing"
    others = ", ".join(f"{module}: {reason}" for module, reason in row.not_reached.items())
    return f"{row.name}{place}", trains, others, ", ".join(row.consumed_by) or "nobody"


def _term(row: MatrixRow) -> Row:
    reached = [f"{module}{_share(cell)}" for module, cell in row.cells.items()]
    return f"  {row.term}", ", ".join(reached) or "nothing", "", ""


def _share(cell: MatrixCell) -> str:
    return f" {percent(cell.share)}" if cell.share is not None else f" {cell.reached}/{cell.total}"


def detail(cell: MatrixCell) -> str:
    said = [f"{cell.reached}/{cell.total}"]
    if cell.norm is not None and cell.share is not None:
        said.append(f"norm {number(cell.norm)} ({fine_percent(cell.share)})")
    if cell.consumed_by:
        said.append(f"consumed by {', '.join(cell.consumed_by)}")
    elif cell.discarded_by:
        said.append(f"discarded at {', '.join(cell.discarded_by)}")
    else:
        said.append("used by no step")
    return ", ".join(said)


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
