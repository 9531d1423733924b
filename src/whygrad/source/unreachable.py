"""Objects that are stored under a name which nobody uses to call them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from whygrad.source import expressions, files
from whygrad.source.scopes import last_name
from whygrad.trace.site import Site


def never_called(site: Site, method: str, others: Iterable[str]) -> bool:
    """Whether no line of these files could call the method of what this expression makes.

    It is kept under one name, and wherever that name is read, another attribute of it is asked for.
    """
    statement = expressions.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    if expressions.span(site.file, statement.value)[1:] != (site.line, site.col, site.end_line, site.end_col):
        return False
    name = last_name(statement.targets[0])
    return bool(name) and not any(_hands_on(files.tree(file), name, method) for file in {site.file, *others})


def _hands_on(module: ast.Module | None, name: str, method: str) -> bool:
    if module is None:
        return True
    harmless = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Attribute) and node.attr != method}
    for node in ast.walk(module):
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name:
            if isinstance(node.ctx, ast.Load) and id(node) not in harmless:
                return True
        elif isinstance(node, ast.Constant) and node.value == name:
            return True
    return False
