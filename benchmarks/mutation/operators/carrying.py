"""Tensors with a graph that are kept from update to update."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.naming import is_loss
from mutation.registry import operator
from mutation.script import Script, method, names, receiver


@operator("log-with-graph", "losses are collected for the log with their graphs")
def log_with_graph(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        statement = script.statement(call)
        logged = isinstance(statement, ast.AugAssign) or method(script.parent(call)) == "append"
        if method(call) == "item" and logged and any(map(is_loss, names(receiver(call)))):
            draft = Draft(script, moves_weights=False)
            draft.unsuffix(call)
            draft.fair("WG207", statement)
            yield draft
