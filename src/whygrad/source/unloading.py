"""Values put into the dictionary that `state_dict()` returned: they reach no network until somebody loads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whygrad.source import expressions, files
from whygrad.source.scopes import Function, last_name, own, scopes
from whygrad.trace.site import Site


def unloaded(files_: list[str], network: str) -> Iterator[Site]:
    """Statements that write into the network's dictionary where the function neither loads it nor hands it on.

    A network that is an argument may be any.
    """
    for file in files_:
        for _, scope in scopes(files.tree(file)):
            nodes = list(own(scope))
            arguments = scope.args.args if isinstance(scope, Function) else []
            meant = {network, *(argument.arg for argument in arguments)}
            for name in _dictionaries(nodes, meant):
                written = [node for node in nodes if isinstance(node, ast.Assign) and _writes(node, name)]
                if written and not _leaves(nodes, name):
                    yield Site(*expressions.span(file, written[0]))


def _dictionaries(nodes: list[ast.AST], networks: set[str]) -> list[str]:
    """Names of a function for what `state_dict()` of one of these returned."""
    return [
        node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "state_dict"
        and last_name(node.value.func.value) in networks
    ]


def _writes(node: ast.Assign, name: str) -> bool:
    target = node.targets[0]
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name


def _leaves(nodes: list[ast.AST], name: str) -> bool:
    """It is returned, stored, or an argument of a call."""
    for node in nodes:
        taken: list[ast.expr | None] = []
        if isinstance(node, (ast.Return, ast.Yield, ast.Assign)):
            taken = [node.value]
        elif isinstance(node, ast.Call):
            taken = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(isinstance(value, ast.Name) and value.id == name for value in taken):
            return True
    return False
