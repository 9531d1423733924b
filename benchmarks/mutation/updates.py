"""The update protocol of a script: which backward, clip, zero_grad and step belong together."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from mutation.networks import Optimizer, optimizers
from mutation.script import Script, dotted, leaf, method, receiver


@dataclass(frozen=True)
class Update:
    """One `step()` call of an optimizer with what leads to it."""

    optimizer: Optimizer
    step: ast.stmt
    backward: ast.stmt
    zero: ast.stmt | None
    clip: ast.stmt | None


def backwards(script: Script, inside: ast.AST | None = None) -> list[ast.Call]:
    return [c for c in script.nodes(ast.Call, inside) if method(c) == "backward"]


def clips(script: Script, inside: ast.AST | None = None) -> list[ast.Call]:
    return [c for c in script.nodes(ast.Call, inside) if leaf(dotted(c.func) or "").startswith("clip_grad_")]


@cache
def updates(script: Script) -> list[Update]:
    known = {o.leaf: o for o in optimizers(script)}
    found = []
    for call in script.nodes(ast.Call):
        optimizer = known.get(leaf(dotted(receiver(call)) or "")) if method(call) == "step" else None
        function = script.function(call)
        if optimizer is None or function is None:
            continue
        step = script.statement(call)
        before = [c for c in backwards(script, function) if c.lineno < step.lineno]
        if not before:
            continue
        backward = script.statement(before[-1])
        between = [c for c in clips(script, function) if backward.lineno < c.lineno < step.lineno]
        zero = _nearest(script, _zero_grads(script, function, optimizer), step)
        clip = script.statement(between[-1]) if between else None
        found.append(Update(optimizer, step, backward, zero, clip))
    return found


def _zero_grads(script: Script, function: ast.FunctionDef, optimizer: Optimizer) -> list[ast.Call]:
    calls = [c for c in script.nodes(ast.Call, function) if method(c) == "zero_grad"]
    return [c for c in calls if leaf(dotted(receiver(c)) or "") == optimizer.leaf]


def _nearest(script: Script, calls: Iterable[ast.Call], step: ast.stmt) -> ast.stmt | None:
    ranked = sorted(calls, key=lambda c: abs(c.lineno - step.lineno))
    return script.statement(ranked[0]) if ranked else None


def steps_of(script: Script, optimizer: Optimizer) -> list[ast.stmt]:
    return [u.step for u in updates(script) if u.optimizer.leaf == optimizer.leaf]
