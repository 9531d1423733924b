"""Cuts by `.detach()` and `.data` on the path that should carry the gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.losses import log_probs, regressions
from mutation.naming import is_critic, is_log_prob
from mutation.networks import forwards, guarded, networks
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, pairs


@operator("detach-prediction", "the prediction of a regression is detached, not its target")
def detach_prediction(script: Script) -> Iterator[Draft]:
    yield from _predictions(script, ".detach()")


@operator("data-prediction", "`.data` is read from the prediction of a regression")
def data_prediction(script: Script) -> Iterator[Draft]:
    yield from _predictions(script, ".data")


def _predictions(script: Script, suffix: str) -> Iterator[Draft]:
    for regression in regressions(script):
        draft = Draft(script)
        draft.suffix(regression.prediction, suffix)
        draft.fair("WG103", regression.prediction)
        yield draft


@operator("detach-log-prob", "the log-probability of the policy loss is detached")
def detach_log_prob(script: Script) -> Iterator[Draft]:
    for call in log_probs(script):
        node = _whole(script, call)
        draft = Draft(script)
        draft.suffix(node, ".detach()")
        draft.fair("WG103", node)
        yield draft


def _whole(script: Script, call: ast.Call) -> ast.expr:
    """A log-probability with its corrections, when all of it is assigned to one name."""
    for target, value in pairs(script.statement(call)):
        if script.inside(call, value) and is_log_prob(leaf(dotted(target) or "")):
            return value
    return call


@operator("detach-action", "the action is detached on its way into the critic of the actor loss")
def detach_action(script: Script) -> Iterator[Draft]:
    for statement, actions in chosen_actions(script):
        draft = Draft(script)
        for action in actions:
            draft.suffix(action, ".detach()")
        draft.fair("WG103", statement, *actions)
        yield draft


def chosen_actions(script: Script) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    """Statements that hand an action of the actor to a critic, with those arguments."""
    known = {n.leaf for n in networks(script)}
    actors = {leaf(dotted(c.func) or "") for c in forwards(script, known)}
    made = _made_by_networks(script, known)
    found: dict[ast.stmt, list[ast.expr]] = {}
    for call in forwards(script, known):
        if guarded(script, call) or len(call.args) < 2 or not is_critic(leaf(dotted(call.func) or "")):
            continue
        action = call.args[1]
        directly = isinstance(action, ast.Call) and leaf(dotted(action.func) or "") in actors
        if directly or (isinstance(action, ast.Name) and action.id in made):
            found.setdefault(script.statement(call), []).append(action)
    yield from found.items()


def _made_by_networks(script: Script, known: set[str]) -> set[str]:
    """Names that are assigned from a network's output with gradient."""
    calls = set(forwards(script, known))
    made = set()
    for statement in script.nodes(ast.Assign):
        for target, value in pairs(statement):
            if value in calls and not guarded(script, statement):
                made |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return made
