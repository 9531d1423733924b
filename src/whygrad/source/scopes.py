"""Functions of a file and what stands in each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def scopes(module: ast.Module | None) -> Iterator[tuple[str, ast.AST]]:
    """The module itself, under an empty name, and every function in it."""
    if module is None:
        return
    yield "", module
    for node in ast.walk(module):
        if isinstance(node, Function):
            yield node.name, node


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a scope in source order, those of functions inside it left out."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, Function):
            yield from own(node)


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
