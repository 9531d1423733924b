"""Gradient accumulation that does not average."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.flow import Flow
from mutation.registry import operator
from mutation.script import Script, receiver
from mutation.updates import Update, backwards, updates


@operator("drop-division", "the loss of a micro-batch is not divided by their number")
def drop_division(script: Script) -> Iterator[Draft]:
    for update, division in _accumulations(script):
        draft = Draft(script)
        draft.cut(script.span(division.left)[1], script.span(division.right)[1])
        draft.fair("WG313", division, update.backward)
        yield draft


@operator("divide-twice", "the loss of a micro-batch is divided twice")
def divide_twice(script: Script) -> Iterator[Draft]:
    for update, division in _accumulations(script):
        (call,) = backwards(script, update.backward)
        draft = Draft(script)
        draft.fair("WG313", division, update.backward)
        draft.replace(receiver(call), f"({script.text(receiver(call))} / {script.text(division.right)})")
        yield draft


def _accumulations(script: Script) -> Iterator[tuple[Update, ast.BinOp]]:
    """Updates whose step stands outside the loop of its backwards, with the division by their number."""
    flow = Flow(script)
    for update in updates(script):
        if update.backward in script.block(update.step):
            continue
        (call,) = backwards(script, update.backward)
        for statement in flow.upstream(flow.reads(receiver(call))):
            value = statement.value if isinstance(statement, ast.Assign) else None
            beside = statement in script.block(update.backward)
            if beside and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
                yield update, value
                break
