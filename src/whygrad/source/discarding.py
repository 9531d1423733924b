"""Statements without effect: results thrown away, methods named but not called, iterators used up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.source import expressions, files
from whygrad.trace.site import Site

PURE = frozenset({"detach", "lerp", "clamp", "mul", "div"})
"""Methods of tensors that return a new one; as a statement they do nothing."""
UNCALLED = frozenset({"backward", "step", "zero_grad", "detach_", "train", "eval"})
ONCE = frozenset({"parameters", "named_parameters"})
LAZY = frozenset({"filter", "map", "chain", "zip", "iter"})


@dataclass(frozen=True, slots=True)
class Useless:
    """A statement that does nothing."""

    site: Site
    how: str
    """`detach`, `result` (of another pure function), `uncalled` or `exhausted`."""
    what: str
    """The variable or method concerned, as written."""
    function: str
    made: Site | None = None
    """Where an exhausted iterator was created."""


def useless(file: str) -> list[Useless]:
    module = files.tree(file)
    if module is None:
        return []
    out: list[Useless] = []
    for name, scope in _scopes(module):
        out.extend(_bare(file, name, scope))
        out.extend(_exhausted(file, name, scope))
    out.extend(_exhausted_attributes(file, module))
    return out


def _scopes(module: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    yield "", module
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of the scope in source order, inner functions left out."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _own(node)


def _bare(file: str, function: str, scope: ast.AST) -> Iterator[Useless]:
    for node in _own(scope):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and _pure(value.func):
            how = "detach" if value.func.attr == "detach" else "result"
            what = value.func.value if how == "detach" else value.func
            yield Useless(_site(file, value), how, ast.unparse(what), function)
        elif isinstance(value, ast.Attribute) and value.attr in UNCALLED:
            yield Useless(_site(file, value), "uncalled", ast.unparse(value), function)


def _pure(called: ast.Attribute) -> bool:
    foreach = called.attr.startswith("_foreach_") and not called.attr.endswith("_")
    return foreach or called.attr in PURE


def _exhausted(file: str, function: str, scope: ast.AST) -> Iterator[Useless]:
    """A name bound once to an iterator over parameters and consumed a second time."""
    bound: dict[str, list[ast.expr]] = {}
    for node in _own(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(node.value)
    looped = {id(inner) for node in _own(scope) if isinstance(node, (ast.For, ast.While)) for inner in _body(node)}
    single = {name: values[0] for name, values in bound.items() if len(values) == 1}
    for name, values in bound.items():
        if len(values) != 1 or not _one_shot(values[0], single):
            continue
        uses = [n for n in _own(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
        inside = id(values[0]) in looped
        spent = uses[1:] if len(uses) > 1 else [u for u in uses if id(u) in looped and not inside]
        for use in spent[:1]:
            yield Useless(_consumer(file, scope, use), "exhausted", name, function, _site(file, values[0]))


def _exhausted_attributes(file: str, module: ast.Module) -> Iterator[Useless]:
    """`self.params = net.parameters()` in `__init__`, used up by the first method that runs over it."""
    for owner in (n for n in ast.walk(module) if isinstance(n, ast.ClassDef)):
        for node in ast.walk(owner):
            if not isinstance(node, ast.Assign) or not _one_shot(node.value, _bindings(owner)):
                continue
            for target in node.targets:
                if not (isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"):
                    continue
                uses = _attribute_uses(owner, target.attr)
                elsewhere = any(function.name != "__init__" for function, _ in uses)
                for function, use in uses[-1:] if elsewhere or len(uses) > 1 else ():
                    where = _consumer(file, function, use)
                    yield Useless(where, "exhausted", f"self.{target.attr}", function.name, _site(file, node.value))


def _attribute_uses(owner: ast.ClassDef, name: str) -> list[tuple[ast.FunctionDef, ast.Attribute]]:
    out = []
    for function in (n for n in owner.body if isinstance(n, ast.FunctionDef)):
        for node in _own(function):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                out.append((function, node))
    return out


def _body(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    for statement in loop.body:
        yield from ast.walk(statement)


def _bindings(owner: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _one_shot(value: ast.expr, bound: dict[str, ast.expr], depth: int = 0) -> bool:
    """An iterator over parameters that can be run over once."""
    if isinstance(value, ast.Name) and depth and value.id in bound and depth < 4:
        return _one_shot(bound[value.id], bound, depth + 1)
    if isinstance(value, ast.GeneratorExp):
        return any(_one_shot(g.iter, bound, depth + 1) for g in value.generators)
    if not isinstance(value, ast.Call):
        return False
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    if called in ONCE and isinstance(value.func, ast.Attribute):
        return True
    return called in LAZY and any(_one_shot(a, bound, depth + 1) for a in value.args)


def _consumer(file: str, scope: ast.AST, use: ast.expr) -> Site:
    """The loop or call that runs over the iterator."""
    best: ast.AST = use
    for node in _own(scope):
        if isinstance(node, (ast.For, ast.comprehension)) and any(inner is use for inner in ast.walk(node.iter)):
            return _site(file, node.iter)
        if isinstance(node, ast.Call) and any(inner is use for inner in ast.walk(node)) and best is use:
            best = node
    return _site(file, best)


def _site(file: str, node: ast.AST) -> Site:
    return Site(*expressions.span(file, node))
