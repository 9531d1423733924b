"""What a line stands inside of that switches gradient recording off."""

from __future__ import annotations

import ast

from whygrad.source import expressions, files
from whygrad.source.scopes import Function, last_name
from whygrad.trace.site import Site

SWITCHING = frozenset({"no_grad", "inference_mode"})


def off_around(site: Site) -> tuple[str, Site] | None:
    """The innermost `with torch.no_grad():` or decorator around a line, and how it is called."""
    found: tuple[str, ast.expr] | None = None
    for node in files.nodes(site.file):  # Outer ones come first.
        if isinstance(node, (ast.With, ast.AsyncWith)):
            written = [item.context_expr for item in node.items]
        elif isinstance(node, Function):
            written = node.decorator_list
        else:
            continue
        if node.body[0].lineno <= site.line <= (node.end_lineno or 0):
            found = next(((how, expr) for expr in written if (how := _off(expr))), found)
    return (found[0], Site(*expressions.span(site.file, found[1]))) if found is not None else None


def _off(node: ast.expr) -> str:
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
    false = any(isinstance(a, ast.Constant) and a.value is False for a in given)
    if name == "set_grad_enabled":
        return "set_grad_enabled(False)" if false else ""
    return name if name in SWITCHING and not false else ""
