"""Copies of networks that are no copies, or that stay behind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from mutation.draft import Draft
from mutation.losses import ratios
from mutation.naming import is_old
from mutation.networks import Network, copies, deep_copied, forwards, loaded_from, networks
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, receiver


@dataclass(frozen=True)
class Sync:
    """A statement that refreshes copies, and where in it the online network and the copy stand."""

    statement: ast.stmt
    copies: tuple[str, ...]
    online: ast.expr
    copy: ast.expr
    inside: tuple[ast.stmt, ...] = ()
    """The statements of a called function that do the copying."""


@operator("alias-copy", "the copy is the trained network itself")
def alias_copy(script: Script) -> Iterator[Draft]:
    built = {n.leaf: n for n in networks(script)}
    for name, online in copies(script).items():
        if name not in built:
            continue
        draft = Draft(script)
        if deep_copied(built[name].built):
            draft.fair("WG307", built[name].statement)
            draft.replace(built[name].built, online)
        else:
            first = _first_load(script, built[name])
            draft.fair("WG307", first)
            draft.replace(first, f"{built[name].name} = {online}")
        yield draft


def _first_load(script: Script, network: Network) -> ast.stmt:
    """The statement that makes a network that was built apart a copy."""
    calls = [c for c in script.nodes(ast.Call) if (pair := loaded_from(c)) and leaf(pair[0]) == network.leaf]
    return script.statement(calls[0])


@operator("drop-sync", "the copy is never refreshed")
def drop_sync(script: Script) -> Iterator[Draft]:
    for sync in _syncs(script):
        draft = Draft(script)
        draft.drop(_alone(script, sync.statement))
        _mark_unrefreshed(draft, sync)
        yield draft


@operator("copy-self", "the copy is refreshed from itself")
def copy_self(script: Script) -> Iterator[Draft]:
    for sync in _syncs(script):
        draft = Draft(script)
        draft.replace(sync.online, script.text(sync.copy))
        draft.fair(_code(sync), sync.statement, *sync.inside)
        yield draft


@operator("copy-back", "the copy is written into the trained network")
def copy_back(script: Script) -> Iterator[Draft]:
    for sync in _syncs(script):
        draft = Draft(script)
        draft.replace(sync.online, script.text(sync.copy))
        draft.replace(sync.copy, script.text(sync.online))
        draft.fair(_code(sync), sync.statement, *sync.inside)
        draft.fair("WG308", sync.statement, *sync.inside)
        _mark_unrefreshed(draft, sync)
        yield draft


def _mark_unrefreshed(draft: Draft, sync: Sync) -> None:
    """Nothing is written into the copy: then it shows where the copy runs, or in the ratio to it."""
    script = draft.script
    draft.fair(_code(sync), *(script.statement(call) for call in forwards(script, set(sync.copies))))
    if _code(sync) == "WG314":
        draft.fair("WG314", *(call for call, _ in ratios(script)))


def _code(sync: Sync) -> str:
    return "WG314" if any(map(is_old, sync.copies)) else "WG308"


def _syncs(script: Script) -> list[Sync]:
    """Refreshes during training; the copy made at the start is none."""
    return [*_loads(script), *_averaging_calls(script), *_averaging_loops(script)]


def _loads(script: Script) -> Iterator[Sync]:
    built = {n.leaf: n.statement for n in networks(script)}
    for call in script.nodes(ast.Call):
        pair = loaded_from(call)
        statement = script.statement(call)
        if pair is None or not isinstance(call.args[0], ast.Call):
            continue
        at_start = built.get(leaf(pair[0]))
        if at_start is None or statement not in script.block(at_start):
            yield Sync(statement, (leaf(pair[0]),), receiver(call.args[0]), receiver(call))


def _zips(script: Script, inside: ast.AST | None = None) -> list[tuple[ast.For, ast.expr, ast.expr]]:
    """`for p, q in zip(a.parameters(), b.parameters())`, with a and b."""
    found = []
    for loop in script.nodes(ast.For, inside):
        walked = loop.iter
        if isinstance(walked, ast.Call) and dotted(walked.func) == "zip" and len(walked.args) == 2:
            first, second = walked.args
            if isinstance(first, ast.Call) and isinstance(second, ast.Call) and method(first) == "parameters":
                found.append((loop, receiver(first), receiver(second)))
    return found


def _averaging_calls(script: Script) -> Iterator[Sync]:
    averaging = {name: f for name, f in script.functions.items() if _zips(script, f)}
    copied = copies(script)
    for call in script.nodes(ast.Call):
        function = averaging.get(dotted(call.func) or "")
        if function is None:
            continue
        copy = next((a for a in call.args if leaf(dotted(a) or "") in copied), None)
        online = next((a for a in call.args if copy and dotted(a) == copied[leaf(dotted(copy) or "")]), None)
        if copy is not None and online is not None:
            inside = tuple(s for loop, _, _ in _zips(script, function) for s in (loop, *loop.body))
            yield Sync(script.statement(call), (leaf(dotted(copy) or ""),), online, copy, inside)


def _averaging_loops(script: Script) -> Iterator[Sync]:
    """Averaging written out in the update, over one pair of networks or several."""
    called = {dotted(c.func) for c in script.nodes(ast.Call)}
    copied = copies(script)
    for loop, first, second in _zips(script):
        function = script.function(loop)
        if function is None or function.name in called:
            continue
        named = {leaf(dotted(n) or "") for a in (loop, *script.ancestors(loop)) for n in _looped(a)}
        yield Sync(loop, tuple(named & set(copied)), first, second, tuple(loop.body))


def _looped(node: ast.AST) -> list[ast.AST]:
    return list(ast.walk(node.iter)) if isinstance(node, ast.For) else []


def _alone(script: Script, statement: ast.stmt) -> ast.stmt:
    """The outermost loop or `with` that holds nothing but this statement."""
    parent = script.parent(statement)
    if isinstance(parent, ast.For | ast.With) and parent.body == [statement]:
        return _alone(script, parent)
    return statement
