"""Statements without effect: calls without parentheses, iterators that are used up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft, mark
from mutation.networks import networks, optimizers
from mutation.registry import operator
from mutation.script import Script, dotted, method, receiver
from mutation.updates import clips, updates


@operator("uncalled-backward", "`loss.backward` without parentheses")
def uncalled_backward(script: Script) -> Iterator[Draft]:
    for statement in dict.fromkeys(u.backward for u in updates(script)):
        yield _uncalled(script, statement)


@operator("uncalled-step", "`optimizer.step` without parentheses")
def uncalled_step(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        draft = _uncalled(script, update.step)
        draft.fair("WG315", update.optimizer.call)
        yield draft


@operator("uncalled-zero-grad", "`optimizer.zero_grad` without parentheses")
def uncalled_zero_grad(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        if update.zero is not None:
            draft = _uncalled(script, update.zero)
            draft.fair("WG301", update.step)
            yield draft


def _uncalled(script: Script, statement: ast.stmt) -> Draft:
    draft = Draft(script)
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    draft.cut(script.span(statement.value.func)[1], script.span(statement)[1])
    draft.fair("WG208", statement)
    return draft


@operator("exhausted-parameters", "one `parameters()` iterator serves the optimizer and then the clipping")
def exhausted_parameters(script: Script) -> Iterator[Draft]:
    for optimizer in optimizers(script):
        held = optimizer.call.args[0]
        for network in networks(script):
            uses = [c for c in clips(script) if _walks(c.args[0], network.name)]
            if not _walks(held, network.name) or not uses:
                continue
            owned = network.name.startswith("self.")
            if not owned and script.function(uses[0]) is not script.function(optimizer.call):
                continue
            draft = Draft(script)
            name = "self.parameters" if owned else "parameters"
            draft.before(optimizer.statement, f"{mark('WG208')}{name} = {network.name}.parameters()")
            draft.replace(held, name)
            for call in uses:
                draft.fair("WG208", call)
                draft.replace(call.args[0], name)
            yield draft


def _walks(node: ast.expr, network: str) -> bool:
    return isinstance(node, ast.Call) and method(node) == "parameters" and dotted(receiver(node)) == network
