"""What each term of a loss contributes: the terms differentiated one by one, before the user's own backward."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import GradientEdge

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.parameters import Parameters
from whygrad.trace import Backward, Graph, Op
from whygrad.trace.operations import JOINS, SCALINGS, SUMS
from whygrad.trace.terms import PASSING, Term, terms

Tensor = torch.Tensor
LARGEST = 5_000_000
"""Elements of all parameters together up to which the terms are differentiated."""
MOST_TERMS = 12
MOST_NODES = 20_000
"""Nodes of autograd's graph that are asked whose code they run."""
SKIPPED = frozenset({"to", "clone", "reshape", "expand"})
"""Operations that may return their operand itself, and then leave no trace in autograd's graph."""


def measure(backward: Backward, loss: Tensor, graph: Graph, root: int, parameters: Parameters) -> None:
    """Fill in the squared norms and inner products of the terms' gradients; leaves everything as it was."""
    parts = terms(graph, root)
    if len(parts) > MOST_TERMS or loss.grad_fn is None or _runs_user_code(loss.grad_fn):
        return
    reached = {n: t for n in graph.reach(root) if (t := parameters[n].ref()) is not None and _plain(t)}
    if not reached or sum(t.numel() for t in reached.values()) > LARGEST:
        return
    edges = _edges(graph, root, loss.grad_fn, {op for part in parts for op in part.ops})
    gradients: dict[int, dict[int, Tensor]] = {}
    for part in parts:
        found = _gradient(loss, graph, part, edges, reached)
        if found is None:
            return
        gradients[part.op] = found
    _compare(backward, gradients)


def _runs_user_code(root: Any) -> bool:
    """Custom functions, registered operators and checkpoints run code of the user's in their backward: that must happen
    only once. Some of them are made where no call shows it, so autograd's own graph is asked."""
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        if isinstance(node, BackwardCFunction) or len(seen) > MOST_NODES:
            return True
        following = {after for after, _ in node.next_functions if after is not None and after not in seen}
        seen |= following
        stack.extend(following)
    return False


def _plain(tensor: Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad and not tensor._backward_hooks


def _edges(graph: Graph, root: int, grad_fn: Any, wanted: set[int]) -> dict[int, GradientEdge]:
    """Walk the shadow graph and autograd's side by side, down to the terms."""
    out: dict[int, GradientEdge] = {}
    stack = [(root, GradientEdge(grad_fn, 0))]
    while stack:
        number, edge = stack.pop()
        if number in wanted:
            out[number] = edge
            continue
        op = graph[number]
        carrying = [i.op for i in op.inputs if op.passes(i)]
        if not _matches(op, edge.node.name()):
            if op.name in SKIPPED and len(carrying) == 1:
                stack.append((carrying[0], edge))
            continue
        following = [GradientEdge(node, slot) for node, slot in edge.node.next_functions if node is not None]
        if len(following) == len(carrying):
            stack.extend(zip(carrying, following, strict=True))
    return out


def _matches(op: Op, name: str) -> bool:
    """Whether autograd's node is the one that this operation left."""
    node = name.lower().lstrip("_")
    if op.name == "reshape":
        return node.startswith(("view", "reshape", "unsafeview"))
    known = op.name in SUMS or op.name in SCALINGS or op.name in PASSING or op.name in JOINS
    return known and node.startswith("mean" if op.name == "nanmean" else op.name)


def _gradient(
    loss: Tensor, graph: Graph, part: Term, edges: dict[int, GradientEdge], reached: dict[int, Tensor]
) -> dict[int, Tensor] | None:
    """Gradient of one term by parameter; None when the term could not be found in autograd's graph."""
    mine = {n: reached[n] for n in part.reach(graph) if n in reached}
    if not mine:
        return {}
    found = [edges.get(op) for op in part.ops if graph.reach(op)]
    if any(edge is None for edge in found):
        return None
    arriving = functions.differentiate(loss, found, retain_graph=True)
    # What `torch.autograd.grad` calls. For the sake of `grad_outputs` that would import sympy, which takes long and
    # adds a filter, so that warnings are shown once more.
    results = torch.autograd.Variable._execution_engine.run_backward(
        tuple(found), arriving, True, False, tuple(mine.values()), allow_unreachable=True, accumulate_grad=False
    )
    return {n: g.to_dense() if g.is_sparse else g for n, g in zip(mine, results, strict=True) if g is not None}


def _compare(backward: Backward, gradients: dict[int, dict[int, Tensor]]) -> None:
    for term, by_parameter in gradients.items():
        for number, grad in by_parameter.items():
            backward.squares[term, number] = methods.number(_wide(grad).pow(2).sum())
    for one, two in combinations(gradients, 2):
        for number in gradients[one].keys() & gradients[two].keys():
            product = (_wide(gradients[one][number]) * _wide(gradients[two][number])).sum()
            backward.products[one, two, number] = methods.number(product)


def _wide(grad: Tensor) -> Tensor:
    """Complex gradients as pairs of real ones."""
    return methods.double(functions.view_as_real(grad) if grad.is_complex() else grad)
