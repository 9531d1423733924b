"""Cuts by copying a value with history into a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft, mark
from mutation.naming import is_critic, is_log_prob
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, receiver
from mutation.updates import backwards


@operator("rewrap-loss", "the loss is wrapped in `torch.tensor(..., requires_grad=True)`")
def rewrap_loss(script: Script) -> Iterator[Draft]:
    for call in backwards(script):
        loss = receiver(call)
        draft = Draft(script)
        if isinstance(loss, ast.Name):
            line = f"{loss.id} = torch.tensor({loss.id}, requires_grad=True)"
            draft.before(script.statement(call), mark("WG101") + line)
        else:
            draft.fair("WG101", call)
            draft.cut(*script.span(call), f"torch.tensor({script.text(loss)}, requires_grad=True).backward()")
        yield draft


@operator("leaf-loss", "the loss is made a leaf to silence PyTorch's error")
def leaf_loss(script: Script) -> Iterator[Draft]:
    for call in backwards(script):
        loss = receiver(call)
        if isinstance(loss, ast.Name):
            draft = Draft(script)
            line = f"{loss.id} = {loss.id}.detach().requires_grad_()"
            draft.before(script.statement(call), mark("WG101") + mark("WG103") + line)
            yield draft


@operator("tensor-of-list", "`torch.tensor` instead of `torch.stack` on a list of tensors")
def tensor_of_list(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        name = leaf(dotted(call.args[0]) or "") if len(call.args) == 1 else ""
        if dotted(call.func) == "torch.stack" and (is_log_prob(name) or is_critic(name)):
            draft = Draft(script)
            draft.fair("WG101", call)
            draft.replace(call.func, "torch.tensor")
            yield draft
