"""Cuts by running the forward pass of the loss under `no_grad`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft, mark
from mutation.networks import forwards, guarded, is_region, module_classes, trained
from mutation.registry import operator
from mutation.script import Script


@operator("no-grad-forward", "a forward that the loss needs runs under `torch.no_grad()`")
def no_grad_forward(script: Script) -> Iterator[Draft]:
    statements = {script.statement(call): None for call in forwards(script, trained(script))}
    for statement in statements:
        if isinstance(statement, ast.Assign) and not guarded(script, statement):
            draft = Draft(script)
            draft.wrap(statement, mark("WG104") + "with torch.no_grad():")
            yield draft


@operator("no-grad-decorator", "a method of the network is decorated with `torch.no_grad()`")
def no_grad_decorator(script: Script) -> Iterator[Draft]:
    for owner in module_classes(script).values():
        for function in script.nodes(ast.FunctionDef, owner):
            if function.name != "__init__" and not is_region(function):
                draft = Draft(script)
                draft.before(function, mark("WG104") + "@torch.no_grad()")
                yield draft
