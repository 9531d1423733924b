"""Whether a script accumulates gradients on purpose, and divides by the count anywhere, by its own names."""

from __future__ import annotations

import ast
import re

from whygrad.source import files

COUNTS = re.compile(
    r"(grad(ient)?|batch)_?acc|acc(um(ulat(e|ion))?)?_?(grad|step|iter|freq|every|batch)|accumulation|micro_?batch"
    r"|num_?micro|n_?micro",
    re.IGNORECASE,
)
"""Names of a number of backwards per step; `accumulated_reward` is none."""


def accumulates(names: list[str]) -> bool:
    """Some name speaks of accumulation or micro-batches."""
    return any(COUNTS.search(name) for file in names for name in _names(files.tree(file)))


def divides(names: list[str]) -> bool:
    """Something is divided by such a name, or by the length of a list of micro-batches."""
    for file in names:
        module = files.tree(file)
        for node in ast.walk(module) if module is not None else ():
            scaling = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, (ast.Div, ast.Mult))
            if scaling and isinstance(node.op, ast.Div):  # type: ignore[attr-defined]
                divisor = node.right if isinstance(node, ast.BinOp) else node.value  # type: ignore[attr-defined]
                if COUNTS.search(ast.unparse(divisor)):
                    return True
    return False


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
