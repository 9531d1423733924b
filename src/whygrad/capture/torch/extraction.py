"""From the living shadow graph to the trace's plain one."""

from __future__ import annotations

import re
import threading
from collections import deque

import torch

from whygrad.capture import frames
from whygrad.capture.torch import methods
from whygrad.capture.torch.parameters import Parameters
from whygrad.capture.torch.shadow import Node, Shadow, telling
from whygrad.capture.torch.unheard import NoFunctions, NoHistory, NoOperations, opaque
from whygrad.source import expressions
from whygrad.source.feeding import feeding
from whygrad.trace import Graph, Input, Kind, Op, Region, Site
from whygrad.trace.operations import LAYERS, SUMS

MOST_OPS = 50_000
LARGEST = 4096

Departures = dict[tuple[frames.Place, int], Node]
"""The latest node per place and thread where values left torch."""
LEGACY = re.compile(r"\b(Float|Double)?Tensor\(")


class Extraction:
    """Copies what a loss was made of, nearest first, and links what only the source connects."""

    def __init__(self, shadow: Shadow, parameters: Parameters, departures: Departures) -> None:
        self.shadow = shadow
        self.parameters = parameters
        self.departures = departures
        self.graph = Graph()
        self.truncated = False
        self.fresh: list[Node] = []
        """What the latest loss brought into the graph."""
        self._regions: dict[int, Region] = {}

    def take(self, root: Node) -> int:
        """Extract everything behind a loss; returns its number in the graph."""
        values: dict[float, Node] | None = None
        queue: deque[Node] = deque([root])
        fresh: list[Op] = []
        self.fresh = []
        while queue:
            node = queue.popleft()
            if node.serial in self.graph.ops:
                continue
            if len(fresh) >= MOST_OPS:
                self.truncated = True
                break
            op = self.graph.add(self._op(node))
            fresh.append(op)
            self.fresh.append(node)
            _as_constructor(op)
            queue.extend(operand for operand, _, _ in node.inputs)
            if op.site is not None and (node.constant or _takes_legacy(node, op.site)):
                queue.extend(self._link_constants(node, op))
            if node.kind is Kind.INPUT and node.floating and not node.inputs and node.name == "input":
                if values is None:
                    values = self._known_values()
                queue.extend(self._link_by_value(node, op, values))
        self._place_constructors(fresh)
        return root.serial

    def forget(self) -> None:
        """The graph is another one's now. Ours would outlive it: the script may hold our wrappers to its end, and
        then Python looks through every operation several times before the process is gone."""
        self.graph, self.fresh = Graph(), []

    def renew(self, nodes: list[Node]) -> None:
        """The loss has been differentiated since: which functions and hooks swallowed its gradient is known now."""
        for node in nodes:
            if node.silenced:
                op = self.graph[node.serial]
                op.silenced, op.hook = tuple(node.silenced), _hook(node)

    def _op(self, node: Node) -> Op:
        return Op(
            node.serial,
            node.name,
            node.kind,
            frames.site(node.code, node.lasti, node.inner),
            frames.site(*node.inner) if node.inner is not None and node.code is not None else None,
            tuple(Input(operand.serial, carries, selects) for operand, carries, selects in node.inputs),
            node.requires_grad,
            node.floating,
            node.shape,
            str(node.dtype).removeprefix("torch."),
            self._region(node),
            node.parameter,
            node.name in LAYERS,
            node.constant,
            tuple(node.silenced or ()),
            _hook(node),
            node.scalar,
            node.spread,
            node.off,
            node.training,
            node.facts,
            node.written,
        )

    def _region(self, node: Node) -> Region | None:
        if node.region is None:
            return None
        if node.region.id not in self._regions:
            self._regions[node.region.id] = node.region.freeze()
        return self._regions[node.region.id]

    def _link_constants(self, node: Node, op: Op) -> list[Node]:
        """Python numbers took part: does the source say that they left torch before?"""
        assert op.site is not None
        if (node.scalar == 0.0 and node.name in SUMS) or expressions.with_literal(op.site):
            return []  # The start of a sum, or a number that stands in the source.
        fed = feeding(op.site) if self.departures else ()
        if not fed:
            return []
        me = threading.get_ident()
        own_last = sorted(self.departures.items(), key=lambda entry: entry[0][1] == me)
        left = {_span(frames.site(*place)): found for (place, _), found in own_last}
        linked: dict[int, tuple[Node, bool]] = {}
        for site, inside in fed:
            found = left.get(_span(site))
            if found is not None and found.serial < node.serial and found.serial not in linked:
                linked[found.serial] = (found, inside)
        op.inputs += tuple(Input(n.serial, inferred=not inside) for n, inside in linked.values())
        return [n for n, _ in linked.values()]

    def _known_values(self) -> dict[float, Node]:
        """Living single values with history, to know them again in what a list of them was made into.

        Several at once are no evidence: the same network gives the same numbers for the same states.
        """
        out: dict[float, Node] = {}
        with NoFunctions(), NoOperations(), NoHistory():
            for node, tensor in self.shadow.living():
                if node.requires_grad and node.parameter is None and tensor.numel() == 1 and _readable(tensor):
                    value = methods.number(methods.detach(tensor).reshape(-1)[0])
                    if telling(value):
                        out.setdefault(value, node)
        return out

    def _link_by_value(self, node: Node, op: Op, values: dict[float, Node]) -> list[Node]:
        """A tensor built behind our back from tensors: `torch.FloatTensor(log_probs)`."""
        tensor = node.ref() if node.ref is not None else None
        if tensor is None or not values or not _readable(tensor):
            return []
        with NoFunctions(), NoOperations(), NoHistory():
            found = [values.get(v) for v in methods.tolist(methods.detach(tensor).reshape(-1)[:16])]
        sources = {n.serial: n for n in found if n is not None and n.serial < node.serial}
        if sources:
            op.kind, op.name, op.written = Kind.COPY, "copy", "Tensor"
            op.inputs = tuple(Input(s, carries=True) for s in sources)
        return list(sources.values())

    def _place_constructors(self, users: list[Op]) -> None:
        """Where a legacy constructor made a tensor: read from the source that feeds its use."""
        for user in users:
            for _, op in self.graph.operands(user):
                if op.written == "Tensor" and op.kind is Kind.COPY and op.site is None:
                    op.site = _constructor(user.site) or user.site


def _hook(node: Node) -> Site | None:
    return frames.site(*node.hook) if node.hook is not None and node.silenced else None


def _readable(tensor: torch.Tensor) -> bool:
    """Small, and where reading it waits for no device."""
    near = (
        not tensor.is_nested
        and tensor.is_floating_point()
        and tensor.device.type == "cpu"
        and tensor.layout == torch.strided
    )
    return near and 0 < tensor.numel() < LARGEST and not opaque(tensor)


def _takes_legacy(node: Node, site: Site) -> bool:
    """`Normal(torch.FloatTensor(mu), std)`: an operand was made from numbers behind our back, within the expression."""
    made = any(o.kind is Kind.INPUT and o.name == "input" and o.floating and not o.inputs for o, _, _ in node.inputs)
    return made and LEGACY.search(expressions.text(site)) is not None


def _as_constructor(op: Op) -> None:
    """`torch.FloatTensor([a, b])` reads tensors out one by one: to the user that is one copy."""
    if op.kind is Kind.LEAVE and op.written in ("__float__", "item", "__index__", "__int__"):
        called = expressions.text(op.site).split("(")[0]
        if called.endswith("Tensor"):
            op.kind, op.name, op.written = Kind.COPY, "copy", called.removeprefix("torch.")


def _constructor(user: Site | None) -> Site | None:
    for site, _ in feeding(user) if user is not None else ():
        if expressions.text(site).split("(")[0].endswith("Tensor"):
            return site
    return None


def _span(site: Site | None) -> tuple[str, int, int, int, int] | None:
    return None if site is None else (site.file, site.line, site.col, site.end_line, site.end_col)
