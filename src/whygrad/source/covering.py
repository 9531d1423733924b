"""What stands on a line, from the outermost statement inwards."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

FEW = 8
"""Statements that are gone through one by one."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """First and last lines of the statements of a block, which stand one after the other."""

    first: list[int]
    last: list[int]


def covering(module: ast.Module, line: int) -> Iterator[ast.AST]:
    """Nodes that a line is part of. In a long block the statement is looked up, not searched for: a report asks about
    as many lines as a script has, and would go through all of them for each."""
    stack = [iter(_children(module, module, line))]
    while stack:
        for node in stack[-1]:
            if _covers(node, line):
                if hasattr(node, "lineno"):
                    yield node
                stack.append(iter(_children(module, node, line)))
                break
        else:
            stack.pop()


def _covers(node: ast.AST, line: int) -> bool:
    first = getattr(node, "lineno", None)
    return first is None or _first_line(node) <= line <= _last_line(node)


def _children(module: ast.Module, node: ast.AST, line: int) -> Iterator[ast.AST]:
    for _, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            long = len(value) > FEW and isinstance(value[0], ast.stmt)
            for inner in _near(module, value, line) if long else value:
                if isinstance(inner, ast.AST):
                    yield inner


def _near(module: ast.Module, block: list[ast.AST], line: int) -> list[ast.AST]:
    known = _blocks(module)
    if id(block) not in known:
        known[id(block)] = _Lines([_first_line(node) for node in block], [_last_line(node) for node in block])
    lines = known[id(block)]
    return block[bisect_left(lines.last, line) : bisect_right(lines.first, line)]


@lru_cache(maxsize=64)
def _blocks(module: ast.Module) -> dict[int, _Lines]:
    """By the identity of a block, which lives as long as its module."""
    del module
    return {}


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", None)
    line = int(node.lineno)  # type: ignore[attr-defined]
    return min(line, int(decorators[0].lineno)) if decorators else line


def _last_line(node: ast.AST) -> int:
    return int(node.end_lineno or node.lineno)  # type: ignore[attr-defined]
