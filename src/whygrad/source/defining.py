"""Where a name that an expression uses got its value."""

from __future__ import annotations

import ast

from whygrad.source import expressions, files
from whygrad.source.scopes import Function, last_name, own, scopes
from whygrad.trace.site import Site


def definition(site: Site, side: str) -> Site | None:
    """The assignment, in the same function, of the subtrahend or divisor (`old`) or of the other operand (`new`)."""
    node = expressions.at(site)
    module = files.tree(site.file)
    if node is None or module is None:
        return None
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Sub, ast.Div)):
            wanted = part.right if side == "old" else part.left
            if isinstance(wanted, ast.Name):
                return _assigned(site, module, wanted.id)
    return None


def call_behind(site: Site) -> Site | None:
    """The call whose result an expression uses by name: `net(obs)` for `q.mean(1)` after `q = net(obs)`."""
    node = expressions.at(site)
    module = files.tree(site.file)
    if not isinstance(node, (ast.Call, ast.Subscript)) or module is None:
        return None
    used = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    used = used.value if isinstance(used, ast.Subscript) else used
    if not isinstance(used, ast.Name):
        return None
    around = [s for _, s in scopes(module) if isinstance(s, Function) and s.lineno <= site.line <= (s.end_lineno or 0)]
    scope: ast.AST = max(around, key=lambda s: s.lineno) if around else module
    bound = [
        node
        for node in own(scope)
        if isinstance(node, ast.Assign)
        and node.lineno < site.line
        and any(isinstance(target, ast.Name) and target.id == used.id for target in node.targets)
    ]
    value = bound[-1].value if bound else None
    return Site(*expressions.span(site.file, value)) if isinstance(value, ast.Call) else None


def call_that_made(site: Site, function: str) -> Site | None:
    """The call of a function (or of a network, for a `forward`) whose result the expression uses by name."""
    node, module = expressions.at(site), files.tree(site.file)
    called = function.rsplit(".", 1)[-1]
    for part in ast.walk(node) if node is not None and module is not None else ():
        if isinstance(part, ast.Name) and module is not None:
            made = _assigned(site, module, part.id)
            value = expressions.at(made) if made is not None else None
            if isinstance(value, ast.Call) and (called == "forward" or last_name(value.func) == called):
                return made
    return None


def _assigned(site: Site, module: ast.Module, name: str) -> Site | None:
    """The last assignment to the name before the expression."""
    found: ast.Assign | None = None
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and node.lineno < site.line:
            bound = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if name in bound and (found is None or node.lineno > found.lineno):
                found = node
    return Site(*expressions.span(site.file, found.value)) if found is not None else None
