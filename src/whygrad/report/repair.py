"""The fix as a change of lines, where the words of the finding leave only one way to make it."""

from __future__ import annotations

import re
from collections.abc import Callable

from whygrad.finding import Finding
from whygrad.report.snippet import Sources

Change = list[tuple[str, int, str]]
"""`-` or `+`, the line's number, and its text."""
_DELETE = re.compile(r"^delete line (\d+)$")
_WRITE = re.compile(r"^write (.+)$")
_REMOVE = re.compile(r"^remove (\.[\w.]+(?:\(\))?) here")


def repair(finding: Finding, source: Sources) -> Change:
    """The lines to take out and to put in; nothing where there is a choice to make."""
    site = finding.site
    if site is None or site.end_line not in (0, site.line):
        return []
    line = source.get(site.file, {}).get(site.line, "")
    if not line.strip():
        return []
    deleted = _DELETE.match(finding.fix)
    if deleted is not None:
        return [("-", site.line, line)] if deleted[1] == str(site.line) else []
    for written in (_removed, _reparametrised, _rewritten):
        fresh = written(finding, line)
        if fresh is not None and fresh != line:
            return [("-", site.line, line), ("+", site.line, fresh)]
    return []


def _within(finding: Finding, line: str, change: Callable[[str], str]) -> str:
    """The line with only the underlined expression changed."""
    assert finding.site is not None
    start, end = finding.site.col, finding.site.end_col
    return line[:start] + change(line[start:end]) + line[end:]


def _removed(finding: Finding, line: str) -> str | None:
    """`remove .detach() here`, where the underlined expression ends in it."""
    found = _REMOVE.match(finding.fix)
    return _within(finding, line, lambda written: written.removesuffix(found[1])) if found is not None else None


def _reparametrised(finding: Finding, line: str) -> str | None:
    if not finding.fix.startswith("use rsample()"):
        return None
    return _within(finding, line, lambda written: written.replace(".sample(", ".rsample("))


def _rewritten(finding: Finding, line: str) -> str | None:
    """`write x = x.detach()`, for a statement that stands alone on its line."""
    found = _WRITE.match(finding.fix)
    assert finding.site is not None
    if found is None or line[: finding.site.col].strip() or line[finding.site.end_col :].strip():
        return None
    return line[: finding.site.col] + found[1]
