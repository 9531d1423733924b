"""Old log-probabilities that are not those of the policy that acted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.losses import log_probs, ratios
from mutation.naming import is_log_prob, is_old
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, pairs, receiver


@operator("recompute-old", "old log-probabilities are recomputed in every epoch")
def recompute_old(script: Script) -> Iterator[Draft]:
    for call, difference in ratios(script):
        draft = Draft(script)
        draft.replace(difference.right, f"{script.text(difference.left)}.detach()")
        draft.fair("WG311", call)
        yield draft


@operator("old-of-other-action", "the stored log-probability belongs to a second sample")
def old_of_other_action(script: Script) -> Iterator[Draft]:
    compared = [call for call, _ in ratios(script)]
    for call in log_probs(script):
        dist = receiver(call) if method(call) == "log_prob" else call
        if compared and _sampled_beside(script, call, dotted(dist) or ""):
            draft = Draft(script)
            draft.replace(call.args[0], f"{script.text(dist)}.sample()")
            draft.fair("WG310", *compared)
            yield draft


def _sampled_beside(script: Script, call: ast.Call, dist: str) -> bool:
    """Whether the action is drawn in the same block, so that this code only collects data."""
    for statement in script.block(script.statement(call)):
        for _, value in pairs(statement):
            if isinstance(value, ast.Call) and method(value) == "sample" and dotted(receiver(value)) == dist:
                return True
    return False


@operator("unaligned-old", "old log-probabilities are cut to the batch size instead of indexed")
def unaligned_old(script: Script) -> Iterator[Draft]:
    compared = [call for call, _ in ratios(script)]
    for node in script.nodes(ast.Subscript):
        name = leaf(dotted(node.value) or "")
        indexed = isinstance(node.slice, ast.Name) and isinstance(node.ctx, ast.Load)
        if compared and indexed and is_old(name) and is_log_prob(name):
            draft = Draft(script)
            draft.replace(node.slice, f": len({script.text(node.slice)})")
            draft.fair("WG310", *compared)
            yield draft
