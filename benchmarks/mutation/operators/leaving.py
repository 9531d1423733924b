"""Cuts by leaving torch: `.item()` and `.tolist()` whose numbers come back as constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.losses import log_probs, regressions, summed, terms
from mutation.naming import is_loss
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, receiver


@operator("item-in-loss", "a term enters the summed loss as a Python number")
def item_in_loss(script: Script) -> Iterator[Draft]:
    regressed = {r.node for r in regressions(script)}
    for total in summed(script):
        for term in terms(total):
            for node in script.nodes(ast.expr, term):
                if node in regressed or (isinstance(node, ast.Name) and is_loss(node.id)):
                    draft = Draft(script)
                    draft.suffix(node, ".item()")
                    draft.fair("WG102", node)
                    yield draft


@operator("tolist-prediction", "the prediction of a regression goes through a Python list")
def tolist_prediction(script: Script) -> Iterator[Draft]:
    for regression in regressions(script):
        draft = Draft(script)
        draft.fair("WG102", regression.prediction)
        start, end = script.span(regression.prediction)
        draft.cut(start, start, "torch.tensor(")
        draft.suffix(regression.prediction, ".tolist()")
        draft.cut(end, end, ")")
        yield draft


@operator("collect-numbers", "log-probabilities are collected as numbers and made a tensor again")
def collect_numbers(script: Script) -> Iterator[Draft]:
    for call in log_probs(script):
        parent = script.parent(call)
        if not isinstance(parent, ast.Call) or method(parent) != "append":
            continue
        collected = leaf(dotted(receiver(parent)) or "")
        stacks = [c for c in script.nodes(ast.Call) if dotted(c.func) == "torch.stack" and _only(c) == collected]
        if stacks:
            draft = Draft(script)
            draft.suffix(call, ".tolist()")
            draft.fair("WG102", call)
            for stack in stacks:
                draft.replace(stack.func, "torch.tensor")
            yield draft


def _only(call: ast.Call) -> str:
    return leaf(dotted(call.args[0]) or "") if len(call.args) == 1 else ""
