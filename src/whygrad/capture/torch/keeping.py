"""Tensors that outlive the update they were made in, graph and all: counted at every traced step."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from types import FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.search import DEEPEST, MOST_ATTRIBUTES, PLAIN, attributes, closed, entries, is_a, items
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.trace import Kept

MOST_LIVING = 30_000
FEW_LIVING = 500
PER_OPERATION = 1
"""Living tensors that may be looked through for each operation since the look before, so that a script with a thousand
training loops, whose variables keep as many graphs alive, pays for its work and not for its square."""
MOST_FOLLOWED = 1024
MOST_NAMED = 20_000
MOST_BEHIND = 2_000
FIRST_STEPS = 8
LATER = 16
"""Steps of an optimizer at which variables are searched: the first ones, then one in so many."""
GROWING = 2
"""Steps in a row at which there were more than before."""
SHORT = 3
"""Operations from one value of a running mean to the next."""
PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)


@dataclass
class _Line:
    """What one line of the script made and somebody kept."""

    node: Node
    counts: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    """What its holder kept of earlier updates, at these looks and at those of later windows."""
    holder: str = ""
    file: str = ""
    sample: list[weakref.ref[torch.Tensor]] = field(default_factory=list)
    survived: int = 0
    chained: bool = False
    """One running value that hangs on all its earlier ones."""


class Keeping:
    """Looks for tensors with a graph that are older than the step before."""

    def __init__(self, shadow: Shadow) -> None:
        self.shadow = shadow
        self._lines: dict[Any, _Line] = {}
        self._since: dict[int, list[int]] = defaultdict(list)
        """By optimizer: where the counter stood at its latest two steps."""
        self._steps: Counter[int] = Counter()
        self._looked = 0
        """Where the counter stood at the latest look."""
        self.names: dict[int, tuple[str, str]] = {}
        """By serial of its node: the variable that held a tensor with a graph at a step, and the file."""

    def stepped(self, optimizer: int, trained: frozenset[int], frame: FrameType) -> None:
        """At a step: what was made before this optimizer's previous step and is still connected to what it trains?"""
        serials = self._since[optimizer]
        serials.append(self.shadow.serial)
        del serials[:-2]
        self._steps[optimizer] += 1
        steps = self._steps[optimizer]
        if self._too_many() or (steps > FIRST_STEPS and steps % LATER):
            return
        self._looked = self.shadow.serial
        named = _holders(frame)
        boundary = serials[-2] if len(serials) > 1 else 0  # What the update before made is no longer needed.
        counts: dict[Any, list[torch.Tensor]] = {}
        nodes: dict[Any, Node] = {}
        chains: dict[Any, tuple[Node, torch.Tensor, int]] = {}
        recent: set[int] = set()
        for node, tensor in self.shadow.living():
            if not node.requires_grad or node.parameter is not None or tensor.grad_fn is None:
                continue
            if id(tensor) in named and len(self.names) < MOST_NAMED:
                self.names[node.serial] = (named[id(tensor)][0], named[id(tensor)][1])
            if id(tensor) in named and (links := _chain(node, boundary)):
                key = (node.code, node.lasti, "chain")
                if links > chains.get(key, (node, tensor, 0))[2]:
                    chains[key] = node, tensor, links
            if node.serial < boundary:
                place = (node.code, node.lasti)
                counts.setdefault(place, []).append(tensor)
                nodes[place] = node
            else:
                recent.add(id(tensor))
        for key, tensors in counts.items():
            if _hangs_on(nodes[key], trained):  # Else it may wait for a backward of its own.
                self._count(key, nodes[key], tensors, named)
        for key, (node, tensor, links) in chains.items():
            if _hangs_on(node, trained):
                self._count(key, node, [tensor], named, links)
        self._look_again(Counter(path for key, (path, _) in named.items() if key not in recent))

    def _too_many(self) -> bool:
        living, since = len(self.shadow._table), self.shadow.serial - self._looked
        return living > MOST_LIVING or (living > FEW_LIVING and living > PER_OPERATION * since)

    def _look_again(self, older: Counter[str]) -> None:
        """In a later window the tensors of an earlier one are strangers; that their holder has more of them shows."""
        for line in self._lines.values():
            line.held.append(older[line.holder])

    def raised(self, frame: FrameType) -> None:
        """A backward failed: who holds what now? The names of the last step may have passed on to newer values."""
        named = _holders(frame)
        for node, tensor in self.shadow.living():
            if id(tensor) in named and node.requires_grad and tensor.grad_fn is not None:
                self.names[node.serial] = (named[id(tensor)][0], named[id(tensor)][1])

    def _count(
        self, key: Any, node: Node, tensors: list[torch.Tensor], named: dict[int, list[str]], count: int = 0
    ) -> None:
        line = self._lines.setdefault(key, _Line(node))
        line.counts.append(count or len(tensors))
        for tensor in tensors:
            if id(tensor) in named and "[" in named[id(tensor)][0]:
                line.holder, line.file = named[id(tensor)]
                break
        else:
            for tensor in tensors:
                if id(tensor) in named and not line.holder:
                    line.holder, line.file = named[id(tensor)]
        line.chained = count > 0
        line.sample = [weakref.ref(t) for t in tensors[-MOST_FOLLOWED:]]

    def forget(self, tensor: torch.Tensor) -> None:
        for line in self._lines.values():
            line.sample = [ref for ref in line.sample if ref() is not tensor]

    def later(self, updates: int) -> None:
        """After the window: are the kept ones still there?"""
        for line in self._lines.values():
            if line.sample and any(ref() is not None for ref in line.sample):
                line.survived = updates

    def kept(self) -> list[Kept]:
        out = []
        for line in self._lines.values():
            inside = "[" in line.holder
            grew = _grows(line.counts) or (inside and line.counts[-1] > line.counts[0])
            if line.holder and (grew or (inside and _grows(line.held))):
                site = frames.site(line.node.code, line.node.lasti, line.node.inner)
                counts = line.counts if grew else [count for count, _ in groupby(line.held)]
                out.append(Kept(site, line.holder, line.file, tuple(counts), line.survived, line.chained))
        return out


def _hangs_on(node: Node, numbers: frozenset[int]) -> bool:
    """Whether gradient would reach one of these parameters; a graph too large to look through may."""
    stack, seen = [node], {node.serial}
    while stack and len(seen) < MOST_BEHIND:
        for operand, carries, _ in stack.pop().inputs:
            if operand.parameter in numbers:
                return True
            if carries and operand.serial not in seen:
                seen.add(operand.serial)
                stack.append(operand)
    return bool(stack)


def _chain(node: Node, boundary: int) -> int:
    """How many earlier values of itself a running sum still hangs on, if one of them is of an earlier update."""
    links, current = 0, node
    while links < MOST_FOLLOWED:
        before = _before(current)
        if before is None:
            break
        current = before
        links += 1
    return links if links and current.serial < boundary else 0


def _before(node: Node) -> Node | None:
    """The value of an earlier pass that this one was made of: `total + x`, `0.9 * mean + 0.1 * x`."""
    level = [node]
    for _ in range(SHORT):
        level = [o for one in level for o, carries, _ in one.inputs if carries and o.code is node.code]
        for operand in level:
            if operand.lasti == node.lasti and operand.name == node.name:  # A library's line is many operations.
                return operand
    return None


def _grows(counts: list[int]) -> bool:
    rises = 0
    for earlier, later in pairwise(counts):
        rises = rises + 1 if later > earlier else 0 if later < earlier else rises
        if rises >= GROWING:
            return True
    return False


def _holders(frame: FrameType) -> dict[int, list[str]]:
    """Who holds each tensor: an object or a container that lives on, rather than a variable of a function."""
    found: dict[int, list[str]] = {}
    for tensor, path, file in _named(frame):
        known = found.get(id(tensor))
        if known is None or "." in path or "[" in path or not ("." in known[0] or "[" in known[0]):
            found[id(tensor)] = [path, file]
    return found


def _named(frame: FrameType | None) -> Iterator[tuple[torch.Tensor, str, str]]:
    """Tensors with a graph that variables of the running functions hold, directly or in containers."""
    seen: set[int] = set()
    while frame is not None:
        if frames.kind_of_code(frame.f_code) == frames.USER:
            for name, value in frames.variables(frame).items():
                if not name.startswith("__"):
                    yield from _inside(name, value, frame.f_code.co_filename, 0, seen)
        frame = frame.f_back


def _inside(path: str, value: Any, file: str, depth: int, seen: set[int]) -> Iterator[tuple[torch.Tensor, str, str]]:
    if is_a(value, torch.Tensor):
        if type(value) in PLAIN_TENSORS and value.grad_fn is not None:
            yield value, path, file
        return
    if is_a(value, PLAIN) or depth > DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    for inner, item in _members(value):
        yield from _inside(path + inner, item, file, depth + 1, seen)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """The latest items of containers: that is where something grows."""
    held = entries(value, MOST_FOLLOWED, last=True)
    if held is not None:
        yield from held
        return
    listed = items(value, MOST_FOLLOWED, last=True)
    if listed is not None:
        yield from (("[]", item) for item in listed)
    elif not closed(value):
        for name, item in list(attributes(value).items())[:MOST_ATTRIBUTES]:
            if type(name) is str and not name.startswith("_"):
                yield f".{name}", item
