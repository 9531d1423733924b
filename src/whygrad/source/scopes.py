"""Functions of a file and what stands in each of them."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef


BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where statements hold others, in source order."""


def scopes(module: ast.Module | None) -> tuple[tuple[str, ast.AST], ...]:
    """The module itself, under an empty name, and every function in it."""
    return _scopes(module) if module is not None else ()


@lru_cache(maxsize=64)
def _scopes(module: ast.Module) -> tuple[tuple[str, ast.AST], ...]:
    return (("", module), *((node.name, node) for node in statements(module) if isinstance(node, Function)))


def statements(outer: ast.AST) -> Iterator[ast.AST]:
    """All statements inside, outer ones first. Expressions, most of a file, are not looked into: they hold none."""
    queue = deque([outer])
    while queue:
        for node in _inside(queue.popleft()):
            yield node
            queue.append(node)


def own_statements(scope: ast.AST) -> Iterator[ast.AST]:
    """Statements of a scope in source order, those of functions inside it left out."""
    stack = _inside(scope)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function):
            stack.extend(reversed(_inside(node)))


def _inside(node: ast.AST) -> list[ast.AST]:
    """Statements (and the handlers and cases around some) that stand directly in another one."""
    held = [getattr(node, name, None) for name in BLOCKS]
    return [inner for block in held if isinstance(block, list) for inner in block]


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a scope in source order, those of functions inside it left out."""
    stack = list(ast.iter_child_nodes(scope))[::-1]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function):
            stack.extend(list(ast.iter_child_nodes(node))[::-1])


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c`, or the name itself."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls(module: ast.Module | None, function: str) -> Iterator[tuple[int, int]]:
    """Lines that run whenever the function is called by its name: the innermost branch or function around the call."""
    stack: list[tuple[ast.AST, tuple[int, int] | None]] = [(module, None)] if module is not None and function else []
    while stack:
        node, lines = stack.pop()
        if isinstance(node, ast.Call) and last_name(node.func) == function and lines is not None:
            yield lines
        if isinstance(node, Function):
            lines = (node.lineno, node.end_lineno or node.lineno)
        elif isinstance(node, ast.If):
            stack.append((node.test, lines))
            for branch in filter(None, (node.body, node.orelse)):
                inside = (branch[0].lineno, branch[-1].end_lineno or branch[-1].lineno)
                stack.extend((statement, inside) for statement in branch)
            continue
        stack.extend((child, lines) for child in ast.iter_child_nodes(node))
