"""Whether a script accumulates gradients on purpose, and divides anywhere, by its own names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set

from whygrad.source import expressions, files
from whygrad.source.exhausting import OPTIMIZERS
from whygrad.source.scopes import Function, last_name, own, scopes
from whygrad.trace.site import Site

COUNTS = re.compile(
    r"(grad(ient)?|batch)_?acc|acc(um(ulat(e|ion))?)?_?(grad|step|iter|freq|every|batch)|accumulation|micro_?batch"
    r"|num_?micro|n_?micro",
    re.IGNORECASE,
)
"""Names of a number of backwards per step; `accumulated_reward` is none."""

RATES = re.compile(r"(^|_)(lr|learning_?rate|step_?size|eta)s?($|_)", re.IGNORECASE)
HOOKS = frozenset({"register_hook", "register_post_accumulate_grad_hook", "register_full_backward_hook"})


def accumulates(names: list[str]) -> bool:
    """Some name speaks of accumulation or micro-batches."""
    return any(COUNTS.search(name) for file in names for name in _names(files.tree(file)))


def divides(names: list[str], backward: Site | None, divisions: Set[Site]) -> bool:
    """Something is divided by such a name, or by the length of a list of micro-batches.

    Not counted is what gives a new value to the very variable that `backward` is called on, where none of the
    `divisions` seen in the loss stands there: it is in a branch that was not taken, or comes after the backward.
    """
    for file in names:
        module = files.tree(file)
        idle = _idle(module, backward, divisions) if backward is not None and backward.file == file else set()
        for node in files.nodes(file):
            if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div) and node not in idle:
                divisor = node.right if isinstance(node, ast.BinOp) else node.value
                if COUNTS.search(ast.unparse(divisor)):
                    return True
    return False


def _idle(module: ast.Module | None, backward: Site, divisions: Set[Site]) -> set[ast.AST]:
    """What is computed for the variable that backward is called on, where that divided nothing of the loss."""
    name = expressions.receiver(backward)
    around = [
        scope
        for _, scope in scopes(module)
        if isinstance(scope, Function) and scope.lineno <= backward.line <= (scope.end_lineno or 0)
    ]
    found: set[ast.AST] = set()
    for node in own(around[-1]) if around and name else ():
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        ran = any(site.file == backward.file and site.line in lines for site in divisions)
        if not ran and any(isinstance(target, ast.Name) and target.id == name for target in targets):
            found.update(ast.walk(node))
    return found


def rescales(names: list[str]) -> bool:
    """A learning rate is written as a quotient, or a hook may change gradients: neither shows in the loss."""
    nodes = [node for file in names for node in files.nodes(file)]
    if any(isinstance(node, ast.Call) and last_name(node.func) in HOOKS for node in nodes):
        return True
    given = [pair for node in nodes for pair in _given(node)]
    rates = [value for name, value in given if RATES.search(name)]
    passed_on = {name for value in rates for name in _factors(value)}
    return any(_quotient(value) for value in [*rates, *(value for name, value in given if name in passed_on)])


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and keys that get a value here."""
    if isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        divides = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)
        value = ast.BinOp(node.target, node.op, node.value) if divides else node.value  # type: ignore[union-attr]
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            key = target.slice if isinstance(target, ast.Subscript) else None
            yield (str(key.value) if isinstance(key, ast.Constant) else last_name(target)), value
    elif isinstance(node, ast.Call) and last_name(node.func) in OPTIMIZERS and len(node.args) > 1:
        yield "lr", node.args[1]
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value


def _factors(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.BinOp):
        yield from _factors(value.left)
        yield from _factors(value.right)
    elif name := last_name(value):
        yield name


def _quotient(value: ast.expr) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) for node in ast.walk(value))


def _names(module: ast.Module | None) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
            found.add(node.arg)
    return found
