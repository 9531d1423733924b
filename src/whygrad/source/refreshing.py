"""Statements that would bring new values into a network, and how often they are meant to run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from whygrad.source import expressions, files
from whygrad.source.scopes import Function, last_name, own, scopes, statements
from whygrad.trace.site import Site

WRITING = frozenset({"copy_", "lerp_", "mul_", "add_", "set_", "data"})
SPEAKING = re.compile(r"update|sync|copy|polyak|soft|hard|ema|refresh|track|lerp|load", re.IGNORECASE)
ROUNDS = re.compile(r"(^|_)ep(isode)?s?$|episode|epoch|round|iter|rollout", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refresh:
    """A statement that refreshes a network when it runs."""

    site: Site
    period: int | None
    """The largest number in the conditions around it: updates, as a rule. None if there is no telling."""
    rounds: bool
    """It counts episodes or epochs, each worth any number of updates."""

    def overdue(self, updates: int) -> bool:
        """Whether so many updates must have met its conditions."""
        return self.period is not None and not self.rounds and updates >= 2 * self.period


def refreshes(files_: list[str], name: str) -> Refresh | None:
    """The statement that refreshes the network of this name; one outside `__init__` if there is any."""
    found: list[tuple[bool, Refresh]] = []
    for file in files_:
        module = files.tree(file)
        for function, scope in scopes(module):
            for node in own(scope):
                if _refreshes(node, name):
                    assert module is not None
                    found.append((function == "__init__", _refresh(file, module, function, node)))
    return min(found, default=(True, None), key=lambda f: f[0])[1]


def _refreshes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.For):
        writes = any(isinstance(n, ast.Attribute) and n.attr in WRITING for part in node.body for n in ast.walk(part))
        return writes and _mentions(node.iter, name)
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr == "load_state_dict":
        return last_name(called.value) == name
    spoken = bool(SPEAKING.search(last_name(called)))
    return spoken and any(_mentions(argument, name) for argument in node.args)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(last_name(part) == name for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))


def _refresh(file: str, module: ast.Module, function: str, node: ast.AST) -> Refresh:
    shown = node.iter if isinstance(node, ast.For) else node
    tests = [
        *_conditions(module, node),
        *(test for call in _calls(module, function) for test in _conditions(module, call)),
    ]
    numbers = [n for test in tests for part in ast.walk(test) for n in _numbers(file, part)]
    rounds = any(ROUNDS.search(last_name(part)) for test in tests for part in ast.walk(test))
    period = max(numbers) if numbers else None if tests else 1
    return Refresh(Site(*expressions.span(file, shown)), period, rounds)


def _conditions(module: ast.Module, node: ast.AST) -> Iterator[ast.expr]:
    """Tests of the `if` statements around a node, in its own function."""
    line: int = node.lineno  # type: ignore[attr-defined]
    for outer in statements(module):
        if not isinstance(outer, ast.If) or not outer.lineno <= line <= (outer.end_lineno or outer.lineno):
            continue
        if any(inner is node for part in outer.body for inner in ast.walk(part)):
            function = any(isinstance(inner, Function) and _holds(inner, node) for inner in ast.walk(outer))
            if not function:
                yield outer.test


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(outer))


def _calls(module: ast.Module, function: str) -> Iterator[ast.Call]:
    """Where the function is called, by its name."""
    for node in ast.walk(module) if function else ():
        if isinstance(node, ast.Call) and last_name(node.func) == function:
            yield node


def _numbers(file: str, node: ast.AST) -> list[int]:
    if isinstance(node, ast.Constant):
        return [node.value] if type(node.value) is int else []
    name = last_name(node)
    return _constants(file).get(name, []) if name else []


@lru_cache(maxsize=64)
def _constants(file: str) -> dict[str, list[int]]:
    """Whole numbers by the names they are given: assignments, defaults of arguments and of options."""
    out: dict[str, list[int]] = {}
    module = files.tree(file)
    for node in ast.walk(module) if module is not None else ():
        for name, value in _given(node):
            if isinstance(value, ast.Constant) and type(value.value) is int:
                out.setdefault(name, []).append(value.value)
    return out


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(map(last_name, target.elts), node.value.elts, strict=False)
            yield last_name(target), node.value
    elif isinstance(node, ast.AnnAssign):
        yield last_name(node.target), node.value
    elif isinstance(node, Function):
        arguments = node.args.posonlyargs + node.args.args
        defaults = node.args.defaults
        yield from ((a.arg, d) for a, d in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
        yield from ((a.arg, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    elif isinstance(node, ast.keyword) and node.arg:
        yield node.arg, node.value
    elif isinstance(node, ast.Call) and last_name(node.func) == "add_argument" and node.args:
        option = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        yield str(option).lstrip("-").replace("-", "_"), default
