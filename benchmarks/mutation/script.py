"""A script as text and tree at once: where each node stands, what surrounds it, what names it reads."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)


class Script:
    """Source text with its syntax tree; offsets count characters from the start."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self._lines = source.split("\n")
        self._starts = list(itertools.accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def nodes(self, kind: type[Node], inside: ast.AST | None = None) -> list[Node]:
        """All nodes of one kind, in the order of the text."""
        walked = self._in_order if inside is None else sorted(ast.walk(inside), key=_position)
        return [node for node in walked if isinstance(node, kind)]

    @cached_property
    def _in_order(self) -> list[ast.AST]:
        return sorted(ast.walk(self.tree), key=_position)

    def span(self, node: ast.AST) -> tuple[int, int]:
        line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_col = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
        return self._offset(line, col), self._offset(end_line, end_col)

    def _offset(self, line: int, utf8_column: int) -> int:
        before = self._lines[line - 1].encode()[:utf8_column]
        return self._starts[line - 1] + len(before.decode())

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def lines(self, node: ast.stmt) -> tuple[int, int]:
        """The offsets of the whole lines that a statement (with its decorators) takes."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        return self._starts[first - 1], self._starts[node.end_lineno or node.lineno]

    def parent(self, node: ast.AST) -> ast.AST:
        return self._parents[node]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._parents:
            node = self._parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around a node, or the node itself."""
        return next(n for n in (node, *self.ancestors(node)) if isinstance(n, ast.stmt))

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        return next((n for n in self.ancestors(node) if isinstance(n, ast.FunctionDef)), None)

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return node is outer or any(ancestor is outer for ancestor in self.ancestors(node))

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that this one stands in."""
        parent = self.parent(statement)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, [])
            if isinstance(block, list) and statement in block:
                return block
        raise ValueError(f"line {statement.lineno} stands in no block")

    def level_with(self, node: ast.AST, other: ast.stmt) -> ast.stmt | None:
        """The statement around `node` that stands in the same block as `other`."""
        block = self.block(other)
        around = (n for n in (node, *self.ancestors(node)) if isinstance(n, ast.stmt))
        return next((n for n in around if n in block), None)

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions and methods by name; of two with one name, the later."""
        return {f.name: f for f in self.nodes(ast.FunctionDef)}


def _position(node: ast.AST) -> tuple[int, int, int, int]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    line, column, end_line, end_column = (getattr(node, name, 0) for name in names)
    return line, column, end_line, end_column


def dotted(node: ast.AST) -> str | None:
    """`self.q_net` for an attribute chain on a name, None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def leaf(name: str) -> str:
    """The last part of a dotted name: what it is called wherever it is handed to."""
    return name.rpartition(".")[2]


def names(node: ast.AST) -> set[str]:
    """Every name and attribute in an expression."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def pairs(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Target and value of an assignment; `a, b = x, y` gives two pairs."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return [(statement.target, statement.value)]
    if not isinstance(statement, ast.Assign):
        return []
    value = statement.value
    matched: list[tuple[ast.expr, ast.expr]] = []
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            matched += zip(target.elts, value.elts, strict=True)
        else:
            matched.append((target, value))
    return matched


def method(node: ast.AST) -> str:
    """`backward` for `x.backward(...)`, and an empty string for what is no method call."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def receiver(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value
