"""Which expressions feed an expression, read from the source alone.

Python numbers and numpy arrays carry no history, so once a value has left torch only the source
tells where it goes. This follows names within a function, attributes of `self` within a class and
calls of functions in the same file: enough to connect `x.item() * w` with the sum it ends up in.
It over-approximates: what it finds is a link to be labelled as inferred. What a value only decides (a comparison, an
index, the action that an environment is given) is not followed.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from whygrad.source import expressions, files
from whygrad.trace.site import Site

DEEPEST = 6
STORING = frozenset({"append", "extend", "insert", "add", "put", "push", "appendleft", "store", "update"})


def feeding(site: Site) -> tuple[tuple[Site, bool], ...]:
    """Calls that feed the expression, nearest first; True where it stands inside the expression itself."""
    node = expressions.at(site)
    module = files.tree(site.file)
    if node is None or module is None:
        return ()
    known = _stored(module)
    if site not in known.fed:
        known.fed[site] = tuple(_feeding(site.file, node, known))
    return known.fed[site]


def _feeding(file: str, node: ast.expr, stored: _Stored) -> Iterator[tuple[Site, bool]]:
    queue = deque([(node, 0)])
    seen: set[int] = set()
    while queue:
        expression, depth = queue.popleft()
        if id(expression) in seen or depth > DEEPEST:
            continue
        seen.add(id(expression))
        for part in _passing(expression):
            if isinstance(part, ast.Call):
                yield Site(*expressions.span(file, part)), depth == 0
        queue.extend((source, depth + 1) for source in stored.sources(expression))


def _passing(expression: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression whose value goes into its own."""
    queue: deque[ast.AST] = deque([expression])
    while queue:
        part = queue.popleft()
        yield part
        deciding = _deciding(part)
        queue.extend(child for child in ast.iter_child_nodes(part) if child not in deciding)


def _deciding(part: ast.AST) -> list[ast.AST]:
    if isinstance(part, ast.Compare):
        return [part.left, *part.comparators]
    if isinstance(part, ast.Subscript):
        return [part.slice]
    if isinstance(part, ast.IfExp):
        return [part.test]
    if isinstance(part, ast.comprehension):
        return [*part.ifs]
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "step":
        return [*part.args, *part.keywords]
    return []


@lru_cache(maxsize=64)
def _stored(module: ast.Module) -> _Stored:
    return _Stored(module)


class _Stored:
    """What a file stores under which name, read once: a loss of a long rollout asks thousands of times."""

    def __init__(self, module: ast.Module) -> None:
        self.module = module
        self.scopes: dict[tuple[int, int], ast.AST] = {}
        self.fed: dict[Site, tuple[tuple[Site, bool], ...]] = {}
        self.returned: dict[str, list[ast.expr]] = {}
        self._names: dict[ast.AST, dict[str, list[ast.expr]]] = {}
        self._visit(module, module)

    def _visit(self, node: ast.AST, scope: ast.AST) -> None:
        """For every expression the innermost function (or module) around it."""
        inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else scope
        if isinstance(node, ast.expr):
            self.scopes[(node.lineno, node.col_offset)] = scope
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            returns = (part.value for part in ast.walk(node) if isinstance(part, ast.Return))
            self.returned[node.name] = [value for value in returns if value is not None]
        for child in ast.iter_child_nodes(node):
            self._visit(child, inner)

    def sources(self, expression: ast.expr) -> Iterator[ast.expr]:
        scope = self.scopes.get((expression.lineno, expression.col_offset))
        for part in _passing(expression):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield from self._under(scope, part.id)
            elif isinstance(part, ast.Attribute) and _is_self(part):
                yield from self._under(self.module, f"self.{part.attr}")
            elif isinstance(part, ast.Call):
                function = part.func
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                yield from self.returned.get(name, ())

    def _under(self, scope: ast.AST | None, name: str) -> list[ast.expr]:
        if scope is None:
            return []
        if scope not in self._names:
            found: dict[str, list[ast.expr]] = {}
            self._names[scope] = found
            for node in ast.walk(scope):
                for stored, values in _stores(node):
                    found.setdefault(stored, []).extend(values)
        return self._names[scope].get(name, [])


def _stores(node: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """Names that a statement stores under, and what: assignments, loop sources, appended values."""
    if isinstance(node, ast.Assign):
        for name in {name for target in node.targets for name in (*_bound(target), *_attribute(target))}:
            yield name, [node.value]
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
        for name in _bound(node.target) if node.value is not None else ():
            yield name, [node.value]  # type: ignore[list-item]
    elif isinstance(node, (ast.For, ast.comprehension)):
        for name in _bound(node.target):
            yield name, [node.iter]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STORING:
        holder = node.func.value
        for name in (*([holder.id] if isinstance(holder, ast.Name) else ()), *_attribute(holder)):
            yield name, node.args


def _bound(target: ast.AST) -> set[str]:
    while isinstance(target, ast.Subscript):
        target = target.value
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _attribute(target: ast.AST) -> list[str]:
    """`self.total` of `self.total`, `self.total[i]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return [f"self.{target.attr}"] if isinstance(target, ast.Attribute) and _is_self(target) else []


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
