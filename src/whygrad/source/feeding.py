"""Which expressions feed an expression, read from the source alone.

Python numbers and numpy arrays carry no history, so once a value has left torch only the source
tells where it goes. This follows names within a function, attributes of `self` within a class and
calls of functions in the same file: enough to connect `x.item() * w` with the sum it ends up in.
It over-approximates: what it finds is a link to be labelled as inferred.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from whygrad.source import expressions, files
from whygrad.trace.site import Site

DEEPEST = 6
STORING = frozenset({"append", "extend", "insert", "add", "put", "push", "appendleft", "store", "update"})


def feeding(site: Site) -> list[tuple[Site, bool]]:
    """Calls that feed the expression, nearest first; True where it stands inside the expression itself."""
    node = expressions.at(site)
    module = files.tree(site.file)
    if node is None or module is None:
        return []
    return _Feeding(site.file, module).of(node)


class _Feeding:
    def __init__(self, file: str, module: ast.Module) -> None:
        self.file = file
        self.scopes = _scopes(file)
        self.functions = {n.name: n for n in ast.walk(module) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.seen: set[int] = set()

    def of(self, node: ast.expr) -> list[tuple[Site, bool]]:
        out: list[tuple[Site, bool]] = []
        queue: list[tuple[ast.expr, int]] = [(node, 0)]
        while queue:
            expression, depth = queue.pop(0)
            if id(expression) in self.seen or depth > DEEPEST:
                continue
            self.seen.add(id(expression))
            for call in _calls(expression):
                out.append((Site(*expressions.span(self.file, call)), depth == 0))
            queue.extend((source, depth + 1) for source in self._sources(expression))
        return out

    def _sources(self, expression: ast.expr) -> Iterator[ast.expr]:
        scope = self.scopes.get((expression.lineno, expression.col_offset))
        for part in ast.walk(expression):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield from _definitions(scope, part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                yield from _attribute_definitions(files.tree(self.file), part.attr)
            elif isinstance(part, ast.Call):
                yield from self._returned(part)

    def _returned(self, call: ast.Call) -> Iterator[ast.expr]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        function = self.functions.get(name)
        for part in ast.walk(function) if function is not None else ():
            if isinstance(part, ast.Return) and part.value is not None:
                yield part.value


def _calls(expression: ast.expr) -> Iterator[ast.expr]:
    for part in ast.walk(expression):
        if isinstance(part, ast.Call):
            yield part


@lru_cache(maxsize=64)
def _scopes(file: str) -> dict[tuple[int, int], ast.AST]:
    """For every expression the innermost function (or module) around it."""
    module = files.tree(file)
    out: dict[tuple[int, int], ast.AST] = {}
    if module is None:
        return out

    def visit(node: ast.AST, scope: ast.AST) -> None:
        inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else scope
        if isinstance(node, ast.expr):
            out[(node.lineno, node.col_offset)] = scope
        for child in ast.iter_child_nodes(node):
            visit(child, inner)

    visit(module, module)
    return out


def _definitions(scope: ast.AST | None, name: str) -> Iterator[ast.expr]:
    """Everything the scope stores under a name: assignments, loop sources, appended values."""
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and any(_binds(t, name) for t in node.targets):
            yield node.value
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and _binds(node.target, name):
            if node.value is not None:
                yield node.value
        elif isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name):
            yield node.iter
        elif isinstance(node, ast.Call) and _stores_in(node, name):
            yield from node.args


def _attribute_definitions(module: ast.Module | None, attribute: str) -> Iterator[ast.expr]:
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.Assign) and any(_is_self(t, attribute) for t in node.targets):
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STORING:
            yield from node.args if _is_self(node.func.value, attribute) else ()


def _binds(target: ast.AST, name: str) -> bool:
    if isinstance(target, ast.Subscript):
        return _binds(target.value, name)
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(target))


def _is_self(node: ast.AST, attribute: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_self(node.value, attribute)
    is_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return is_self and node.attr == attribute  # type: ignore[attr-defined]


def _stores_in(call: ast.Call, name: str) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in STORING
        and isinstance(function.value, ast.Name)
        and function.value.id == name
    )
