"""Gradients that are not cleared, or cleared at the wrong moment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.flow import Flow
from mutation.registry import operator
from mutation.script import Script, names, receiver
from mutation.updates import Update, backwards, updates


@operator("drop-zero-grad", "`zero_grad()` is forgotten")
def drop_zero_grad(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        if update.zero is not None:
            draft = Draft(script)
            draft.drop(update.zero)
            draft.fair("WG301", update.step)
            draft.fair("WG205", *(u.backward for u in passing_through(script, update)))
            yield draft


@operator("zero-before-step", "`zero_grad()` stands between backward and step")
def zero_before_step(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        if update.zero is not None:
            draft = Draft(script)
            draft.move_before(update.zero, update.step, "WG303")
            yield draft


def passing_through(script: Script, update: Update) -> list[Update]:
    """Other updates whose loss is computed by a network of this update's optimizer."""
    found = []
    for other in updates(script):
        if other.optimizer.leaf != update.optimizer.leaf and _uses(script, other, set(update.optimizer.holds)):
            found.append(other)
    return found


def _uses(script: Script, update: Update, networks: set[str]) -> bool:
    flow = Flow(script)
    loss = [n for call in backwards(script, update.backward) for n in flow.reads(receiver(call))]
    statements = [s for s in flow.upstream(loss) if script.function(s) is script.function(update.backward)]
    return any(networks & names(value) for s in statements for value in ast.iter_child_nodes(s))
