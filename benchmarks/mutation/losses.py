"""The shapes of RL losses: regressions, weighted log-probabilities, probability ratios, sums of terms."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from mutation.naming import is_log_prob, is_loss, is_old, is_ratio, is_temperature
from mutation.networks import guarded
from mutation.script import Script, dotted, leaf, method, names, pairs, receiver

_REGRESSIONS = {"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"}
_CRITERIA = {"MSELoss", "SmoothL1Loss", "HuberLoss", "L1Loss"}


@dataclass(frozen=True)
class Regression:
    node: ast.expr
    prediction: ast.expr
    target: ast.expr


@cache
def regressions(script: Script) -> list[Regression]:
    """`F.mse_loss(a, b)`, a criterion called `criterion(a, b)`, and `(a - b).pow(2)`."""
    criteria = _criteria(script)
    found = []
    for call in script.nodes(ast.Call):
        last = leaf(dotted(call.func) or "")
        if (last in _REGRESSIONS or last in criteria) and len(call.args) >= 2:
            found.append(Regression(call, call.args[0], call.args[1]))
        error = receiver(call) if method(call) in ("pow", "square") else None
        if isinstance(error, ast.BinOp) and isinstance(error.op, ast.Sub) and not _is_constant(error):
            found.append(Regression(call, error.left, error.right))
    return found


def _is_constant(error: ast.BinOp) -> bool:
    return isinstance(error.left, ast.Constant) or isinstance(error.right, ast.Constant)


def _criteria(script: Script) -> set[str]:
    found = set()
    for statement in script.nodes(ast.Assign):
        for target, value in pairs(statement):
            if isinstance(value, ast.Call) and leaf(dotted(value.func) or "") in _CRITERIA:
                found.add(leaf(dotted(target) or ""))
    return found


def log_probs(script: Script) -> list[ast.Call]:
    """Calls that compute log-probabilities with gradient."""
    calls = [c for c in script.nodes(ast.Call) if leaf(dotted(c.func) or method(c)) in ("log_prob", "log_softmax")]
    return [c for c in calls if not guarded(script, c)]


@cache
def ratios(script: Script) -> list[tuple[ast.Call, ast.BinOp]]:
    """`(new - old).exp()` and `torch.exp(new - old)`, each with its difference."""
    found = []
    for call in script.nodes(ast.Call):
        if leaf(dotted(call.func) or method(call)) != "exp":
            continue
        inner = call.args[0] if call.args else receiver(call)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and any(map(is_old, names(inner.right))):
            found.append((call, inner))
    return found


@cache
def weightings(script: Script) -> list[tuple[ast.BinOp, ast.expr]]:
    """Products of a log-probability or ratio with its weight, each with the weight."""
    found = []
    for product in script.nodes(ast.BinOp):
        if not isinstance(product.op, ast.Mult):
            continue
        for policy, weight in ((product.left, product.right), (product.right, product.left)):
            scored = any(is_log_prob(n) or is_ratio(n) for n in names(policy))
            if scored and not any(is_temperature(n) for n in names(weight)):
                found.append((product, weight))
                break
    return found


def summed(script: Script) -> list[ast.BinOp]:
    """Losses that are sums of terms: assigned to a name that says so, or differentiated on the spot."""
    found = []
    for node in script.nodes(ast.BinOp):
        parent = script.parent(node)
        assigned = isinstance(parent, ast.Assign) and any(is_loss(leaf(dotted(t) or "")) for t in parent.targets)
        started = isinstance(parent, ast.Attribute) and parent.attr == "backward"
        if isinstance(node.op, ast.Add | ast.Sub) and (assigned or started):
            found.append(node)
    return found


def spine(total: ast.BinOp) -> list[ast.BinOp]:
    """The additions that make up a sum, the outermost first."""
    left = total.left
    return [total, *(spine(left) if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add | ast.Sub) else [])]


def terms(total: ast.BinOp) -> list[ast.expr]:
    additions = spine(total)
    return [additions[-1].left, *(node.right for node in reversed(additions))]
