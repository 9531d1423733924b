"""Losses whose gradient exists and is wrong: shapes, dimensions, signs, missing reductions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.flow import Flow
from mutation.losses import regressions
from mutation.naming import is_log_prob, is_loss, is_ratio
from mutation.networks import module_classes
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, names, receiver
from mutation.updates import backwards


@operator("drop-squeeze", "`(N, 1)` meets `(N,)` in the loss because a squeeze is forgotten")
def drop_squeeze(script: Script) -> Iterator[Draft]:
    compared = regressions(script)
    for call in script.nodes(ast.Call):
        statement = script.statement(call)
        in_network = any(a in module_classes(script).values() for a in script.ancestors(call))
        if method(call) != "squeeze" or in_network or not isinstance(statement, ast.Assign) or not _column(call):
            continue
        beside = [r.node for r in compared if script.function(r.node) is script.function(call)]
        if beside:
            draft = Draft(script)
            draft.unsuffix(call)
            draft.fair("WG401", statement, *beside)
            yield draft


def _column(call: ast.Call) -> bool:
    """Whether the squeezed value is one per row, picked by gather."""
    return method(receiver(call)) == "gather"


@operator("batch-softmax", "softmax normalises over the batch")
def batch_softmax(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        for keyword in call.keywords:
            if leaf(dotted(call.func) or "") in ("softmax", "log_softmax") and keyword.arg == "dim":
                draft = Draft(script)
                draft.fair("WG402", call)
                draft.replace(keyword.value, "0")
                yield draft


@operator("flip-policy-sign", "the policy loss lacks its minus")
def flip_policy_sign(script: Script) -> Iterator[Draft]:
    for node in script.nodes(ast.UnaryOp):
        scored = any(is_log_prob(n) or is_ratio(n) for n in names(node.operand))
        temperature = any("alpha" in n for n in names(node.operand))
        if isinstance(node.op, ast.USub) and scored and not temperature:
            draft = Draft(script)
            start = script.span(node)[0]
            draft.cut(start, start + 1)
            draft.fair("WG409", script.statement(node), node.operand)
            yield draft


@operator("drop-reduction", "the loss is not reduced to a number")
def drop_reduction(script: Script) -> Iterator[Draft]:
    flow = Flow(script)
    for call in script.nodes(ast.Call):
        if method(call) not in ("mean", "sum") or call.args or not _is_outermost(script, call):
            continue
        started = [b for b in backwards(script) if script.statement(call) in _sources(script, flow, b)]
        if started:
            draft = Draft(script)
            draft.unsuffix(call)
            draft.fair("WG604", *started)
            yield draft


def _is_outermost(script: Script, call: ast.Call) -> bool:
    """Whether what is reduced is a loss of its own: assigned to one, returned, or differentiated."""
    parent = script.parent(call)
    if isinstance(parent, ast.UnaryOp):
        parent = script.parent(parent)
    if isinstance(parent, ast.Assign):
        return any(is_loss(leaf(dotted(t) or "")) for t in parent.targets)
    return isinstance(parent, ast.Return) or (isinstance(parent, ast.Attribute) and parent.attr == "backward")


def _sources(script: Script, flow: Flow, backward: ast.Call) -> list[ast.stmt]:
    return [script.statement(backward), *flow.upstream(flow.reads(receiver(backward)))]
