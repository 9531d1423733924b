"""Training and evaluation mode of the forwards behind a value."""

from __future__ import annotations

from whygrad.trace.graph import Graph


def modes(graph: Graph, root: int) -> dict[str, bool]:
    """For each kind of operation that knows modes (dropout, batch norm): whether it ran in training mode."""
    found: dict[str, bool] = {}
    stack, seen = [root], {root}
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None:
            continue
        if op.training is not None:
            name = "dropout" if "dropout" in op.name else op.name
            found[name] = found.get(name, False) or op.training
        for operand in op.inputs:
            if not operand.selector and operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return found


def mismatch(graph: Graph, new: int, old: int) -> bool:
    """Whether two forwards of a network ran in different modes."""
    one, two = modes(graph, new), modes(graph, old)
    return any(one[name] != two[name] for name in one.keys() & two.keys())
