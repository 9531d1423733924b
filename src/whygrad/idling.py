"""Statements of the user's that ran and changed nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whygrad.source import files
from whygrad.source.discarding import Useless, useless
from whygrad.source.exhausting import Exhausted, exhausted
from whygrad.source.scopes import calls, last_name, own, scopes
from whygrad.trace import Site, Trace

TWICE = 2


def thrown_away(trace: Trace) -> list[Useless]:
    """Results that nobody takes, each of an operation that was seen to run there, and methods never called."""
    return trace.once("thrown away", lambda: list(_thrown_away(trace)))


def _thrown_away(trace: Trace) -> Iterator[Useless]:
    made = {(site.file, site.line, site.col, name) for site, name in trace.results.items()}
    for file in trace.files:
        for found in useless(file):
            if found.how in ("uncalled", "lazy"):
                seen = not found.function or (file, found.function) in trace.functions
                seen = seen or (found.how == "lazy" and _called(trace, file, found))
            else:
                seen = (file, found.site.line, found.site.col, found.called) in made
            if seen:
                yield found


def _called(trace: Trace, file: str, found: Useless) -> bool:
    """Nothing that torch does happens in the function, but something happens beside a line that calls it.

    Only where one function has that name: a method of another class may be the one that is called.
    """
    if sum(name == found.function for name, _ in scopes(files.tree(file))) > 1:
        return False
    lines = {op.site.line for op in trace.graph.ops.values() if op.site is not None and op.site.file == file}
    module = files.tree(file)
    outside = own(module) if module is not None else ()
    if any(isinstance(node, ast.Call) and last_name(node.func) == found.function for node in outside):
        return True
    return any(first <= line <= last for first, last in calls(module, found.function) for line in lines)


def drained(trace: Trace) -> Iterator[Exhausted]:
    """Uses of an iterator with nothing left in it, where the run shows that it came to that."""
    for file in trace.files:
        for found in exhausted(file):
            ran = not found.function or (file, found.function) in trace.functions
            if found.again is None:
                proven = ran
            else:
                lines = [found.again, *calls(files.tree(file), found.function)]
                proven = any(_repeated(trace, file, *span) for span in lines)
            if proven or _clipped_nothing(trace, found.site):
                yield found


def _clipped_nothing(trace: Trace, site: Site) -> bool:
    return any(c.exhausted and c.site is not None and c.site.line == site.line for c in trace.clips)


def _repeated(trace: Trace, file: str, first: int, last: int) -> bool:
    """Lines in which at least two traced steps happened."""
    sites = [step.site for step in trace.steps if step.site is not None]
    return sum(site.file == file and first <= site.line <= last for site in sites) >= TWICE
