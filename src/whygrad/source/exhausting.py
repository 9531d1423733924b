"""Iterators over parameters that are run over a second time, when nothing is left in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.source import expressions, files
from whygrad.source.scopes import Function, last_name, own_statements, scopes, statements
from whygrad.trace.site import Site

ONCE = frozenset({"parameters", "named_parameters"})
LAZY = frozenset({"filter", "map", "chain", "from_iterable", "zip", "iter"})
DRAINING = frozenset(
    """list tuple set sum max min any all clip_grad_norm_ clip_grads_with_norm_ clip_grad_value_""".split()
)
OPTIMIZERS = frozenset(
    "Adam AdamW Adamax NAdam RAdam SGD ASGD RMSprop Rprop Adagrad Adadelta Adafactor SparseAdam LBFGS".split()
)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A place that runs over an iterator with nothing left in it."""

    site: Site
    what: str
    function: str
    made: Site
    again: tuple[int, int] | None = None
    """It is the only use: true from the second time on that these lines run."""
    toggles: bool = False
    """All that was to be done is to switch `requires_grad` off and on again."""


@dataclass(frozen=True, slots=True)
class _Use:
    """One place that drains the iterator, and the blocks around it, outermost first."""

    node: ast.AST
    blocks: tuple[int, ...]
    loop: ast.For | ast.While | None
    switches: bool


def exhausted(file: str) -> Iterator[Exhausted]:
    module = files.tree(file)
    for name, scope in scopes(module):
        yield from _names(file, name, scope)
    for owner in statements(module) if module is not None else ():
        if isinstance(owner, ast.ClassDef):
            yield from _attributes(file, owner)


def _names(file: str, function: str, scope: ast.AST) -> Iterator[Exhausted]:
    """A name bound once to such an iterator and drained twice, or once in a loop that began after it was made."""
    bound = _bindings(own_statements(scope))
    for name, values in bound.items():
        if len(values) != 1 or not _one_shot(values[0], bound):
            continue
        made = Site(*expressions.span(file, values[0]))
        uses = _drains(scope, name)
        second = _second(uses)
        if second is not None:
            yield Exhausted(_place(file, second), name, function, made, None, _toggled(uses))
        elif len(uses) == 1 and (loop := uses[0].loop) is not None and not _within(values[0], loop):
            lines = (loop.lineno, loop.end_lineno or loop.lineno)
            yield Exhausted(_place(file, uses[0]), name, function, made, lines, _toggled(uses))
        else:
            yield from _inside(file, scope, name, made, any(len(use.blocks) == 1 for use in uses))


def _inside(file: str, scope: ast.AST, name: str, made: Site, drained: bool) -> Iterator[Exhausted]:
    """Functions inside that run over what the one around them made, and drained itself or leaves to their calls."""
    for node in own_statements(scope):
        if not isinstance(node, Function) or name in _bindings(own_statements(node)):
            continue
        uses = _drains(node, name)
        if uses:
            again = None if drained else (node.lineno, node.end_lineno or node.lineno)
            yield Exhausted(_place(file, uses[0]), name, node.name, made, again, _toggled(uses))
            return


def _attributes(file: str, owner: ast.ClassDef) -> Iterator[Exhausted]:
    """`self.params = net.parameters()`, drained where it is made and again by a method, or by a method each time."""
    bound = _bindings(statements(owner))
    methods = [node for node in owner.body if isinstance(node, Function)]
    for name, values in bound.items():
        if not name.startswith("self.") or len(values) != 1 or not _one_shot(values[0], bound):
            continue
        made = Site(*expressions.span(file, values[0]))
        by_method = [(method, _drains(method, name)) for method in methods]
        early = [use for method, uses in by_method for use in uses if _within(values[0], method)]
        for method, uses in by_method:
            if not uses or _within(values[0], method):
                continue
            again = None if early and len(early[0].blocks) == 1 else (method.lineno, method.end_lineno or method.lineno)
            yield Exhausted(_place(file, uses[-1]), name, method.name, made, again, _toggled(uses))
            break


def _bindings(nodes: Iterator[ast.AST]) -> dict[str, list[ast.expr]]:
    bound: dict[str, list[ast.expr]] = {}
    for node in nodes:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, (ast.Name, ast.Attribute)):
                assert isinstance(node, ast.Assign)
                bound.setdefault(ast.unparse(target), []).append(node.value)
    return bound


def _one_shot(value: ast.expr, bound: dict[str, list[ast.expr]], depth: int = 0) -> bool:
    """An iterator over parameters that can be run over once."""
    if depth > 4:
        return False
    if isinstance(value, (ast.Name, ast.Attribute)) and depth:
        values = bound.get(ast.unparse(value), [])
        return len(values) == 1 and _one_shot(values[0], bound, depth + 1)
    if isinstance(value, ast.GeneratorExp):
        return any(_one_shot(g.iter, bound, depth + 1) for g in value.generators)
    if not isinstance(value, ast.Call):
        return False
    called = last_name(value.func)
    if called == "from_iterable":
        nested = [getattr(a, "elts", None) or [getattr(a, "elt", a)] for a in value.args]
        return any(_one_shot(part, bound, depth + 1) for parts in nested for part in parts)
    if called in ONCE and isinstance(value.func, ast.Attribute):
        return True
    return called in LAZY and any(_one_shot(a, bound, depth + 1) for a in value.args)


def _drains(scope: ast.AST, name: str) -> list[_Use]:
    """Loops and calls that are known to run over the name, in source order. Others may only pass it on."""
    out: list[_Use] = []

    def visit(node: ast.AST, blocks: tuple[int, ...], loop: ast.For | ast.While | None) -> None:
        if isinstance(node, Function) and node is not scope:
            return
        drained = _drained(node)
        if any(_mentions(part, name) for part in drained):
            place = node.iter if isinstance(node, (ast.For, ast.comprehension)) else node
            out.append(_Use(place, blocks, loop, isinstance(node, ast.For) and all(map(_switches, node.body))))
        for field, value in ast.iter_fields(node):
            block = isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)
            inside = (*blocks, id(value)) if block else blocks
            within = node if isinstance(node, (ast.For, ast.While)) and field == "body" else loop
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not any(child is part for part in drained):
                    visit(child, inside, within)

    visit(scope, (), None)
    return out


def _place(file: str, use: _Use) -> Site:
    return Site(*expressions.span(file, use.node))


def _toggled(uses: list[_Use]) -> bool:
    return sum(use.switches for use in uses) >= 2


def _switches(statement: ast.stmt) -> bool:
    """`p.requires_grad = ...`, or the call of the same."""
    if isinstance(statement, ast.Assign):
        return last_name(statement.targets[0]) == "requires_grad"
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) == "requires_grad_"


def _drained(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Call) and (last_name(node.func) in DRAINING or last_name(node.func) in OPTIMIZERS):
        return node.args[:1] + [k.value for k in node.keywords if k.arg in ("params", "parameters")]
    return []


def _mentions(node: ast.expr, name: str) -> bool:
    """The name itself, or wrapped in `zip`, `enumerate`, `filter`…, not something read off it."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ast.unparse(node) == name
    wrapped = isinstance(node, ast.Call) and last_name(node.func) in LAZY | {"enumerate", "reversed", "list", "tuple"}
    return wrapped and any(_mentions(a, name) for a in node.args)  # type: ignore[attr-defined]


def _second(uses: list[_Use]) -> _Use | None:
    """A use that comes after another one on every way through the function."""
    for number, later in enumerate(uses):
        for earlier in uses[:number]:
            if later.blocks[: len(earlier.blocks)] == earlier.blocks:
                return later
    return None


def _within(node: ast.AST, outer: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(outer))
