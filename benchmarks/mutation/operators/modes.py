"""Evaluation mode that outlives the evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.networks import forwards
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, receiver


@operator("drop-train", "`train()` after an evaluation is forgotten")
def drop_train(script: Script) -> Iterator[Draft]:
    calls = script.nodes(ast.Call)
    for call in calls:
        if method(call) == "train" and not call.args and "train" not in script.functions:
            name = dotted(receiver(call)) or ""
            draft = Draft(script)
            draft.drop(script.statement(call))
            draft.fair("WG312", *(c for c in calls if method(c) == "eval" and dotted(receiver(c)) == name))
            draft.fair("WG312", *(script.statement(c) for c in forwards(script, {leaf(name)})))
            yield draft
