"""From the graph of a trace to the few chains that the report keeps of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from whygrad.finding import Finding
from whygrad.report.chains import Chain, Stop
from whygrad.source import expressions
from whygrad.trace import Graph, Kind, Op, Site, Trace
from whygrad.trace.consumption import missing, trained
from whygrad.trace.grouping import modules
from whygrad.trace.matrix import Row
from whygrad.trace.paths import paths
from whygrad.trace.spanning import Spanning, carrying, spanning, values_first

MOST_ROWS = 24
MOST_SEARCHED = 500_000
"""Operations that are gone through for the rows together: of a huge graph only the first losses get paths."""
MOST_EACH = 8
"""Parameters of one module that a path is kept for: the others lie between them."""
LONGEST = 28
"""Operations of one path; what lies in the middle of a longer one is counted."""
BESIDE = ("WG108", "WG112", "WG113")
"""Rules whose place is not an operation that blocks: a flag, a term, a function of the user's."""
REASONS = {
    Kind.DETACH: "detached: a constant from here on",
    Kind.COPY: "copied into a new tensor without history",
    Kind.LEAVE: "left torch as plain numbers",
    Kind.DISCRETE: "a discrete choice has no gradient",
    Kind.FLAG: "a leaf without history",
}
REGIONS = {
    "sample": "drawn by sample(): a constant",
    "checkpoint": "inside a checkpoint",
    "function": "inside a function",
}


@dataclass(frozen=True, slots=True)
class Way:
    """Operations from a loss to a parameter, loss first."""

    ops: tuple[int, ...]
    code: str = ""


def chains(trace: Trace, rows: list[Row], findings: list[Finding]) -> list[Chain]:
    """For each term and module some parameters, each with the way on which gradient comes or should have come."""
    named = _Named(trace, [f for f in findings if f.loud])
    out: list[Chain] = []
    most = min(MOST_ROWS, 1 + MOST_SEARCHED // max(len(trace.graph.ops), 1))
    for index, row in enumerate(rows[:most]):
        roots = row.term.ops if row.term is not None else (row.root,) if row.root is not None else ()
        roots = tuple(root for root in roots if root in trace.graph.ops)
        if roots:
            out += _of_row(trace, index, roots, named)
    return out


def _of_row(trace: Trace, index: int, roots: tuple[int, ...], named: _Named) -> list[Chain]:
    graph = trace.graph
    depends = frozenset[int]().union(*(graph.depends(root) for root in roots))
    carried = spanning(graph, roots, carrying)
    valued = spanning(graph, roots, values_first)
    lost = frozenset(n for n in depends if n not in carried.parameters)
    causes = paths(graph, roots, lost, trained(trace) - missing(trace))
    out = []
    for module, numbers in modules(trace).items():
        for number in _spread([n for n in numbers if n in depends]):
            ways = []
            if number in causes:
                ways.append(Way(causes[number].ops))
            elif number in carried.parameters:
                ways.append(Way(carried.way(number)))
                ways += named.detours(graph, carried, number)
            elif number in valued.parameters:
                ways.append(Way(valued.way(number)))
            out += [_chain(trace, index, module, number, way, named) for way in ways]
    return out


def _spread(numbers: list[int]) -> list[int]:
    """The first, the last and some between."""
    if len(numbers) <= MOST_EACH:
        return numbers
    return [numbers[round(i * (len(numbers) - 1) / (MOST_EACH - 1))] for i in range(MOST_EACH)]


class _Named:
    """Places that findings name."""

    def __init__(self, trace: Trace, findings: list[Finding]) -> None:
        self._by_place = {_place(f.site): f for f in reversed(findings) if f.site is not None}
        self._by_parameter = {p: f for f in reversed(findings) if f.code in BESIDE for p in f.parameters}
        self._below: dict[int, Spanning] = {}
        self._ops = [
            (op.id, finding)
            for op in trace.graph.ops.values()
            if (finding := self.of(op)) is not None and finding.code.startswith("WG2")
        ]

    def of(self, op: Op) -> Finding | None:
        for site in (op.site, op.region.site if op.region is not None and op.blocks else None):
            if site is not None and (found := self._by_place.get(_place(site))) is not None:
                return found
        return None

    def about(self, parameter: str) -> Finding | None:
        """The finding that explains why a parameter is not reached, where it names no operation on the way."""
        return self._by_parameter.get(parameter)

    def detours(self, graph: Graph, carried: Spanning, number: int) -> list[Way]:
        """The way through a leak, where the shortest one does not show it."""
        direct = carried.way(number)
        out: dict[str, Way] = {}
        for op, finding in self._ops:
            if op in carried.before and op not in direct and finding.code not in out and number in graph.reach(op):
                if op not in self._below:
                    self._below[op] = spanning(graph, [op], carrying)
                below = self._below[op]
                if number in below.parameters:
                    out[finding.code] = Way((*carried.to(op)[:-1], *below.way(number)), finding.code)
        return list(out.values())


def _place(site: Site) -> tuple[str, int, int, int, int]:
    return site.file, site.line, site.col, site.end_line, site.end_col


def _chain(trace: Trace, row: int, module: str, number: int, way: Way, named: _Named) -> Chain:
    graph = trace.graph
    stops = [_stop(trace, graph[op], named, parameter=number) for op in way.ops]
    stops[0] = replace(stops[0], role=stops[0].role or "loss")
    arrives = 1
    for op, behind in zip(way.ops, way.ops[1:], strict=False):
        if not _gets_through(graph[op], behind):
            break
        arrives += 1
    broken = arrives < len(stops)
    finding = named.about(trace.parameter(number).name)
    if broken and finding is not None and not any(s.role == "cut" for s in stops):
        at = arrives - 1 if stops[arrives - 1].code == finding.code else arrives
        stops[at] = replace(stops[at], role="cut", why=finding.here or finding.message, code=finding.code)
    elif broken and not any(s.role in ("cut", "meant") for s in stops):
        stops[arrives] = replace(stops[arrives], role="meant", why=_ends(trace, graph[way.ops[arrives]]))
    # Under one no_grad every operation blocks: what counts is where its result comes out.
    for index in range(len(stops) - 1, 0, -1):
        if stops[index].role == "meant" and stops[index].why == stops[index - 1].why:
            stops[index] = replace(stops[index], role="", why="")
    if not broken:
        stops = [replace(s, role="", why="") if s.role in ("cut", "meant") else s for s in stops]
    stops.reverse()
    first = len(stops) - arrives
    stops, first = _folded(stops, first)
    return Chain(row, module, trace.parameter(number).name, stops, first, way.code)


def _gets_through(op: Op, operand: int) -> bool:
    """Whether gradient comes from an operation to this operand, as far as the graph and what came out of it tell."""
    return any(i.op == operand and op.passes(i) and k not in op.silenced for k, i in enumerate(op.inputs))


def _stop(trace: Trace, op: Op, named: _Named, *, parameter: int) -> Stop:
    if op.parameter is not None:
        role = "parameter"
        why = "" if trace.parameter(parameter).requires_grad else "frozen: requires_grad is False"
        return Stop(trace.parameter(op.parameter).name, "", None, op.shape, role, why)
    finding = named.of(op)
    leaking = finding is not None and finding.code.startswith("WG2")
    role = "leak" if leaking else "" if not op.blocks else "cut" if finding is not None else "meant"
    why = finding.here if finding is not None and role else why_blocked(op) if op.blocks else ""
    code = finding.code if finding is not None else ""
    return Stop(op.written, expressions.text(op.site), op.site, op.shape, role, why, code)


def why_blocked(op: Op) -> str:
    if op.kind in REASONS:
        return REASONS[op.kind]
    region = op.region
    if region is None:
        return ""
    line = f", line {region.site.line}" if region.site is not None else ""
    return REGIONS.get(region.by) or f"computed under {region.how}{line}"


def _ends(trace: Trace, op: Op) -> str:
    """Why gradient does not go on to an operation that blocks nothing itself."""
    if op.parameter is not None and not trace.parameter(op.parameter).requires_grad:
        return "frozen: requires_grad is False"
    return (
        "it chooses, by index or condition, and carries no gradient"
        if op.floating
        else "whole numbers carry no gradient"
    )


def _folded(stops: list[Stop], first: int) -> tuple[list[Stop], int]:
    """Leave out the middle of a long chain, but nothing that has something to say."""
    if len(stops) <= LONGEST:
        return stops, first
    half = LONGEST // 2
    telling = {i for i, stop in enumerate(stops) if stop.role in ("cut", "meant", "leak")}
    telling |= {i + step for i in telling for step in (-1, 1)} | {first}
    out: list[Stop] = []
    start, gap = math.inf, 0
    for index, stop in enumerate(stops):
        if index < half or index >= len(stops) - half or index in telling:
            if gap:
                out.append(Stop(f"{gap} more operations", role="folded"))
                gap = 0
            if index >= first:
                start = min(start, len(out))
            out.append(stop)
        else:
            gap += 1
    return out, int(start) if math.isfinite(start) else len(out)
