"""A cut in one line."""

from __future__ import annotations

from whygrad.source import cells, expressions
from whygrad.trace.cuts import Cut


def said(cut: Cut) -> str:
    """One line for a debugger."""
    place = f"{cells.title(cut.site.file)}:{cut.site.line}" if cut.site is not None else "an unknown line"
    return f"cut at {place} by {expressions.text(cut.site) or cut.op.written} ({cut.kind})"
