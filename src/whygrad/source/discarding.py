"""Statements without effect: results thrown away, and methods named but not called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from whygrad.source import expressions, files
from whygrad.source.scopes import own_statements, scopes
from whygrad.trace.site import Site

UNCALLED = frozenset({"backward", "step", "zero_grad", "detach_", "train", "eval"})
LAZY = frozenset({"map", "filter"})
ABOUT_TRAINING = UNCALLED | {
    "parameters",
    "named_parameters",
    "state_dict",
    "load_state_dict",
    "buffers",
    "data",
    "grad",
}


@dataclass(frozen=True, slots=True)
class Useless:
    """A statement that does nothing."""

    site: Site
    how: str
    """`detach`, `result` (of another call), `uncalled` or `lazy`."""
    what: str
    """The variable or method concerned, as written."""
    function: str
    called: str = ""
    """The method's own name."""


def useless(file: str) -> tuple[Useless, ...]:
    """Calls whose result nobody takes (whether it matters only the run can tell), and methods without their call."""
    return _useless(file, files.tree(file))


@lru_cache(maxsize=64)
def _useless(file: str, module: ast.Module | None) -> tuple[Useless, ...]:
    return tuple(_find(file, module))


def _find(file: str, module: ast.Module | None) -> Iterator[Useless]:
    for name, scope in scopes(module):
        for node in own_statements(scope):
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                how = "detach" if value.func.attr == "detach" else "result"
                what = value.func.value if how == "detach" else value.func
                yield Useless(_site(file, value), how, ast.unparse(what), name, value.func.attr)
            elif isinstance(value, ast.Attribute) and value.attr in UNCALLED:
                yield Useless(_site(file, value), "uncalled", ast.unparse(value), name)
            elif value is not None and (lazy := _lazy(value)) and _about_training(value):
                yield Useless(_site(file, value), "lazy", lazy, name)


def _lazy(value: ast.expr) -> str:
    """What only describes work until somebody runs over it."""
    if isinstance(value, ast.GeneratorExp):
        return "the generator"
    called = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    return f"{called}()" if called in LAZY else ""


def _about_training(value: ast.expr) -> bool:
    names = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    return any(name in ABOUT_TRAINING or (name.endswith("_") and not name.startswith("_")) for name in names)


def _site(file: str, node: ast.AST) -> Site:
    return Site(*expressions.span(file, node))
