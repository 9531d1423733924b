"""What a loss is made of above its networks: sums, products, scores, data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from whygrad.trace import deadline
from whygrad.trace.graph import BLOCKING, Graph, Input, Kind, Op
from whygrad.trace.operations import CHOOSING, CONTRACTIONS, JOINS, LOGS, SCALINGS, SHAPING, SUMS


@dataclass(frozen=True, slots=True)
class Summand:
    """One addend of a value."""

    op: int
    scaled: bool
    """A number, a mask or a discount multiplies it on the way."""
    joined: int
    """The innermost sum that took it in; the value itself if there is none."""
    open: bool
    """Gradient comes from the value all the way to it."""
    number: bool = False
    """Not an operation: the Python number that the sum `op` adds, a reward or a limit."""

    def reach(self, graph: Graph) -> frozenset[int]:
        return graph.reach(self.op) if self.open else frozenset()


def layer(graph: Graph, op: Op) -> bool:
    """Part of a network: it applies weights, or mixes activations as attention does."""
    if op.name not in CONTRACTIONS:
        return op.layer
    key = ("layer", op.id)
    if key not in graph.memo:
        graph.memo[key] = _mixes(graph, op)
    found: bool = graph.memo[key]
    return found


def _mixes(graph: Graph, op: Op) -> bool:
    operands = [i.op for i in op.inputs]
    if len(operands) == 2 and operands[0] == operands[1]:
        return False  # a square: `einsum("bd,bd->b", delta, delta)`
    return not any(_short_log(graph, found.id) for _, found in graph.operands(op))


def _short_log(graph: Graph, start: int, most: int = 12) -> bool:
    """A log-probability a few steps away: this is a product of the loss, not of a network."""
    stack, seen = [start], {start}
    while stack and len(seen) < most:
        op = graph.ops.get(stack.pop())
        if op is None or (op.layer and op.name not in CONTRACTIONS):
            continue
        if op.name in LOGS:
            return True
        fresh = [i.op for i in op.inputs if i.op not in seen and not i.selector]
        seen.update(fresh)
        stack.extend(fresh)
    return False


def head(
    graph: Graph,
    root: int,
    *,
    gradient: bool = True,
    selectors: bool = False,
    stop: Callable[[Graph, Op], bool] | None = None,
) -> Iterator[Op]:
    """Operations between a value and the networks behind it; the networks' last layers included."""
    return heads(graph, [root], gradient=gradient, selectors=selectors, stop=stop)


def heads(
    graph: Graph,
    roots: Iterable[int],
    *,
    gradient: bool = True,
    selectors: bool = False,
    stop: Callable[[Graph, Op], bool] | None = None,
) -> Iterator[Op]:
    """The heads of several values in one walk, each operation once."""
    deadline.check()
    stack = list(roots)
    seen = set(stack)
    visited = 0
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None:
            continue
        visited += 1
        if not visited % deadline.OFTEN:
            deadline.check()
        yield op
        for number in _next(graph, op, gradient, selectors, stop):
            if number not in seen:
                seen.add(number)
                stack.append(number)


def _next(graph: Graph, op: Op, gradient: bool, selectors: bool, stop: Callable[[Graph, Op], bool] | None) -> list[int]:
    """Where a head goes on behind an operation."""
    if layer(graph, op) or op.parameter is not None or (stop is not None and stop(graph, op)):
        return []
    if gradient:
        if not op.requires_grad or op.kind in BLOCKING:
            return []
        return [i.op for i in op.inputs if i.carries and not i.inferred]
    if selectors:
        return [i.op for i in op.inputs]
    if op.kind is Kind.DISCRETE:
        return []  # What follows from a choice is data: an action's reward, say.
    return [i.op for i in op.inputs if not i.selector]


def formula(graph: Graph, root: int, *, gradient: bool = True) -> list[Op]:
    """The whole head of a loss, which one rule after the other goes through. Nobody may change the list."""
    key = ("formula", root, gradient)
    found: list[Op] | None = graph.memo.get(key)
    return found if found is not None else graph.keep(key, list(head(graph, root, gradient=gradient)))


def holds_above(
    graph: Graph,
    root: int,
    question: object,
    holds: Callable[[Op], bool],
    *,
    gradient: bool = True,
    stop: Callable[[Graph, Op], bool] | None = None,
) -> bool:
    """Whether something holds for any operation of a head. Answers are kept by the name of the question, for every
    operation on the way: of a long chain one may ask at each link."""
    known: dict[int, bool] = graph.memo.setdefault((question, gradient), {})

    def begin(number: int) -> bool | None:
        """The answer, where it needs no further look; None if it does."""
        op = graph.ops.get(number)
        answer = known.get(number) if op is not None else False
        if answer is None and op is not None and holds(op):
            answer = known[number] = True
        if answer is None and op is not None:
            stack.append((number, iter(_next(graph, op, gradient, False, stop))))
        return answer

    stack: list[tuple[int, Iterator[int]]] = []
    if begin(root):
        return True
    while stack:
        number, rest = stack[-1]
        for operand in rest:
            answer = begin(operand)
            if answer:
                known.update((above, True) for above, _ in stack)
                return True
            if answer is None:
                break
        else:
            known[number] = False
            stack.pop()
    return False


def tops(graph: Graph, root: int, *, gradient: bool = True) -> list[Op]:
    """The last layers of the networks a value comes from."""
    key = ("tops", root, gradient)
    if key not in graph.memo:
        graph.memo[key] = [op for op in head(graph, root, gradient=gradient) if layer(graph, op)]
    found: list[Op] = graph.memo[key]
    return found


def of_network(graph: Graph, root: int) -> bool:
    """Whether a value comes from a network, cut or not: `tops` of it, without looking for all of them."""
    known: dict[int, bool] = graph.memo.setdefault("of network", {})
    stack = [root]
    while stack:
        op = graph.ops.get(stack[-1])
        if op is None or stack[-1] in known:
            known.setdefault(stack.pop(), False)
            continue
        if layer(graph, op) or op.parameter is not None or op.kind is Kind.DISCRETE:
            known[stack.pop()] = layer(graph, op)
            continue
        operands = [i.op for i in op.inputs if not i.selector]
        unknown = [n for n in operands if n not in known]
        if unknown:
            stack.extend(unknown)
        else:
            known[stack.pop()] = any(known[n] for n in operands)
    return known[root]


def bare(graph: Graph, root: int) -> bool:
    """Made of parameters that no layer applies: a temperature, a multiplier, a log-std."""
    ops = list(head(graph, root))
    return any(op.parameter is not None for op in ops) and not any(layer(graph, op) for op in ops)


def summands(graph: Graph, root: int) -> list[Summand]:
    """A value as a sum, through scalings, reshapes, stacking, masks and cuts."""
    out: list[Summand] = []
    stack = [(root, False, root, graph[root].requires_grad)]
    seen: set[tuple[int, bool, bool]] = set()
    while stack:
        number, scaled, joined, passes = stack.pop()
        if (number, scaled, passes) in seen or number not in graph.ops:
            continue
        seen.add((number, scaled, passes))
        op = graph[number]
        parts, scales = _parts(graph, op)
        if not parts:
            out.append(Summand(number, scaled, joined, passes))
            continue
        inner = number if op.name in SUMS else joined
        for part in reversed(parts):
            stack.append((part.op, scaled or scales, inner, passes and op.passes(part)))
        if op.name in SUMS and op.scalar is not None:
            out.append(Summand(number, scaled, number, False, True))
    return out


def adds_scaled_network(graph: Graph, root: int) -> bool:
    """Whether any of a value's `summands` is scaled and comes from a network. Asked along a chain of discounted sums,
    each of which holds all the earlier ones: what is known of those is kept."""
    known: dict[tuple[int, bool], bool] = graph.memo.setdefault("scaled network", {})
    stack = [(root, False)]
    while stack:
        number, scaled = state = stack[-1]
        if state in known or number not in graph.ops:
            known.setdefault(state, False)
            stack.pop()
            continue
        op = graph[number]
        parts, scales = _parts(graph, op)
        states = [(part.op, scaled or scales) for part in parts]
        unknown = [state for state in states if state not in known]
        if unknown:
            stack.extend(unknown)
            continue
        itself = scaled and (not parts or (op.name in SUMS and op.scalar is not None)) and of_network(graph, number)
        known[state] = itself or any(known[state] for state in states)
        stack.pop()
    return known[root, False]


def _parts(graph: Graph, op: Op) -> tuple[list[Input], bool]:
    """Operands that a sum, a scaling, a reshape, a mask or a cut passes on, and whether it scales."""
    if op.kind is Kind.PARAMETER or layer(graph, op):
        return [], False
    values = [operand for operand, _ in graph.operands(op) if not operand.selector]
    if op.name in SUMS or op.name in JOINS:
        return values, False
    if op.name in SHAPING or op.kind in (Kind.DETACH, Kind.COPY, Kind.LEAVE):
        several = op.kind is Kind.COPY or op.name == "store"
        return (values if several else values[:1]), False
    if op.name in CHOOSING:
        return values, op.name == "masked_fill"
    if op.name in SCALINGS:
        network = [v for v in values if graph.depends(v.op)]
        if len(values) == 1 or len(network) == 1:
            return network or values[:1], True
    return [], False


def behind_shaping(graph: Graph, start: int) -> Op | None:
    """What a value is once reshapes, casts and temperatures are taken off."""
    op = graph.ops.get(start)
    while op is not None and (op.name in SHAPING or op.name in CHOOSING or (op.name in SCALINGS and op.scalar)):
        values = [i.op for i in op.inputs if not i.selector]
        op = graph.ops.get(values[0]) if values else None
    return op
