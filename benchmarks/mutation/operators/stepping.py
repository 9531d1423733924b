"""Steps in the wrong place, or without effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.networks import optimizers
from mutation.operators.zeroing import passing_through
from mutation.registry import operator
from mutation.script import Script
from mutation.updates import Update, steps_of, updates


@operator("step-before-backward", "`step()` runs before `backward()`")
def step_before_backward(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        backward = script.level_with(update.backward, update.step)
        if backward is not None:
            draft = Draft(script)
            draft.move_before(update.step, backward, "WG302")
            if update.zero is not None:
                draft.fair("WG303", update.zero)
            yield draft


@operator("never-step", "an optimizer is never stepped")
def never_step(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        draft = Draft(script)
        draft.drop(update.step)
        draft.fair("WG315", update.optimizer.call)
        yield draft


@operator("late-step", "the critic steps after the actor's backward went through it")
def late_step(script: Script) -> Iterator[Draft]:
    for update, later in _crossed(script):
        around = script.level_with(later.backward, update.step)
        if around is not None:
            draft = Draft(script)
            draft.drop(update.step)
            draft.after(around, draft.copied(update.step))
            draft.fair("WG205", later.backward)
            yield draft


@operator("step-between", "the critic steps between the actor's forward and its backward")
def step_between(script: Script) -> Iterator[Draft]:
    for update, later in _crossed(script):
        draft = Draft(script)
        draft.move_before(update.step, later.backward, "WG602")
        yield draft


def _crossed(script: Script) -> Iterator[tuple[Update, Update]]:
    """An update and the first later one in the same function whose loss goes through its networks."""
    for update in updates(script):
        later = [u for u in passing_through(script, update) if u.backward.lineno > update.step.lineno]
        same = [u for u in later if script.function(u.step) is script.function(update.step)]
        if same:
            yield update, same[0]


@operator("zero-learning-rate", "the learning rate is 0")
def zero_learning_rate(script: Script) -> Iterator[Draft]:
    for optimizer in optimizers(script):
        for keyword in optimizer.call.keywords:
            if keyword.arg == "lr" and isinstance(keyword.value, ast.Constant):
                draft = Draft(script)
                draft.replace(keyword.value, "0.0")
                draft.fair("WG309", *steps_of(script, optimizer))
                yield draft
