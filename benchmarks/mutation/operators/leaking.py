"""Guards against gradient that are forgotten: `detach()` and `no_grad`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft, mark
from mutation.flow import Flow
from mutation.leaks import mark_leak
from mutation.naming import is_hidden_state, is_loss, is_temperature
from mutation.networks import is_region
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, names, pairs, receiver
from mutation.updates import backwards

_IN_PLACE = {"mul_", "add_", "sub_", "lerp_", "copy_"}
_NUMPY = {"numpy", "cpu"}


@operator("drop-detach", "a `.detach()` is forgotten")
def drop_detach(script: Script) -> Iterator[Draft]:
    for call in _detaches(script):
        draft = Draft(script)
        draft.unsuffix(call)
        _mark_undetached(draft, call)
        yield draft


@operator("discard-detach", "`x.detach()` stands alone and its result is thrown away")
def discard_detach(script: Script) -> Iterator[Draft]:
    for call in _detaches(script):
        for target, value in pairs(script.statement(call)):
            name = dotted(target)
            if value is call and name is not None and not is_hidden_state(leaf(name)):
                draft = Draft(script)
                draft.unsuffix(call)
                draft.after(script.statement(call), f"{mark('WG208')}{name}.detach()")
                _mark_undetached(draft, call)
                yield draft


def _detaches(script: Script) -> list[ast.Call]:
    """Detached values that stay in torch."""
    found = []
    for call in script.nodes(ast.Call):
        parent = script.parent(call)
        if method(call) == "detach" and not (isinstance(parent, ast.Attribute) and parent.attr in _NUMPY):
            found.append(call)
    return found


def _mark_undetached(draft: Draft, call: ast.Call) -> None:
    script = draft.script
    statement = script.statement(call)
    written = {leaf(dotted(target) or "") for target, _ in pairs(statement)}
    if any(map(is_hidden_state, written)):
        draft.fair("WG207", statement)
    elif any(is_loss(n) and is_temperature(n) for n in written):
        draft.fair("WG206", statement)
    elif any(map(is_temperature, names(receiver(call)))):
        flow = Flow(script, call)
        reached, edges = flow.downstream()
        draft.fair("WG205", *(b for b in backwards(script) if flow.reads(receiver(b)) & reached))
        draft.fair("WG206", *(e.statement for e in edges if any(is_loss(leaf(name)) for name in e.writes)))
    else:
        mark_leak(draft, call)


@operator("drop-no-grad", "a `with torch.no_grad():` is forgotten")
def drop_no_grad(script: Script) -> Iterator[Draft]:
    for region in script.nodes(ast.With):
        leaves_torch = any(method(c) in _NUMPY for c in script.nodes(ast.Call, region))
        if is_region(region) and not leaves_torch:
            draft = Draft(script)
            draft.unwrap(region)
            _mark_unguarded(draft, region)
            yield draft


@operator("drop-no-grad-decorator", "a `@torch.no_grad()` is forgotten")
def drop_no_grad_decorator(script: Script) -> Iterator[Draft]:
    for function in script.nodes(ast.FunctionDef):
        if is_region(function):
            draft = Draft(script)
            first = script.lines(function)[0]
            draft.cut(first, script.span(function)[0] - function.col_offset)
            _mark_unguarded(draft, function)
            yield draft


def _mark_unguarded(draft: Draft, region: ast.With | ast.FunctionDef) -> None:
    script = draft.script
    in_place = [c for c in script.nodes(ast.Call, region) if method(c) in _IN_PLACE]
    if in_place:
        draft.fair("WG608", *(script.statement(c) for c in in_place))
    else:
        mark_leak(draft, region)
