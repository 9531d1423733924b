"""Cuts by a choice or a sample that has no derivative."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.naming import is_log_prob
from mutation.networks import guarded
from mutation.operators.detaching import chosen_actions
from mutation.registry import operator
from mutation.script import Script, method, names, receiver


@operator("argmax-for-gather", "the greedy action's index is taken for the value of the action taken")
def argmax_for_gather(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        if method(call) != "gather" or guarded(script, call) or any(map(is_log_prob, names(receiver(call)))):
            continue
        draft = Draft(script)
        draft.fair("WG105", call)
        values, dim = script.text(receiver(call)), script.text(call.args[0])
        draft.replace(call, f"{values}.argmax({dim}, keepdim=True).float()")
        yield draft


@operator("round-action", "the action is rounded on its way into the critic of the actor loss")
def round_action(script: Script) -> Iterator[Draft]:
    for statement, actions in chosen_actions(script):
        draft = Draft(script)
        for action in actions:
            draft.suffix(action, ".round()")
        draft.fair("WG105", statement, *actions)
        yield draft


@operator("sample-for-rsample", "`sample()` where the loss differentiates through the action")
def sample_for_rsample(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        if method(call) == "rsample":
            draft = Draft(script)
            draft.fair("WG106", call)
            draft.replace(call, f"{script.text(receiver(call))}.sample()")
            yield draft
