"""Parameters that no optimizer holds, that a stale one holds, that are frozen or that no loss uses."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from mutation.draft import Draft, mark
from mutation.losses import regressions, spine, summed
from mutation.naming import is_critic
from mutation.networks import Network, Optimizer, networks, optimizers, parts
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, names, receiver
from mutation.updates import updates


@operator("leave-out-network", "one of several networks is left out of the optimizer")
def leave_out_network(script: Script) -> Iterator[Draft]:
    for optimizer in optimizers(script):
        for start, end in _members(script, optimizer.call.args[0]):
            draft = Draft(script)
            draft.cut(start, end)
            draft.fair("WG109", optimizer.call)
            yield draft


def _members(script: Script, held: ast.expr) -> Iterator[tuple[int, int]]:
    """The characters to cut to drop one member of `[*a, *b]`, `[{...}, {...}]` or `list(a) + list(b)`."""
    if isinstance(held, ast.List) and len(held.elts) > 1:
        spans = [script.span(e) for e in held.elts]
        yield spans[0][0], spans[1][0]
        for before, this in itertools.pairwise(spans):
            yield before[1], this[1]
    elif isinstance(held, ast.BinOp) and isinstance(held.op, ast.Add):
        left, right = script.span(held.left), script.span(held.right)
        yield left[0], right[0]
        yield left[1], right[1]


@operator("leave-out-part", "the optimizer gets all parts of a network but one")
def leave_out_part(script: Script) -> Iterator[Draft]:
    for optimizer, network, call in _whole(script):
        every = parts(script, network)
        for left_out in every if len(every) > 1 else []:
            kept = [_part(network, name, bare) for name, bare in every if (name, bare) != left_out]
            draft = Draft(script)
            draft.fair("WG109", optimizer.call)
            draft.replace(call, f"[{', '.join(kept)}]" if len(kept) > 1 else kept[0].lstrip("*"))
            yield draft


def _part(network: Network, name: str, bare: bool) -> str:
    return f"{network.name}.{name}" if bare else f"*{network.name}.{name}.parameters()"


def _whole(script: Script) -> Iterator[tuple[Optimizer, Network, ast.expr]]:
    """Optimizers that are handed just `network.parameters()`."""
    for optimizer in optimizers(script):
        held = optimizer.call.args[0]
        for network in networks(script):
            if isinstance(held, ast.Call) and method(held) == "parameters" and dotted(receiver(held)) == network.name:
                yield optimizer, network, held


@operator("unregister-modules", "sub-modules stand in a plain list")
def unregister_modules(script: Script) -> Iterator[Draft]:
    for call in script.nodes(ast.Call):
        if leaf(dotted(call.func) or "") == "ModuleList" and len(call.args) == 1:
            draft = Draft(script)
            draft.replace(call, script.text(call.args[0]))
            draft.fair("WG109", *(o.call for o in optimizers(script)))
            yield draft


@operator("rebuild-network", "a network is built anew after the optimizer took its parameters")
def rebuild_network(script: Script) -> Iterator[Draft]:
    for optimizer in optimizers(script):
        for network in networks(script):
            if network.leaf in optimizer.holds:
                draft = Draft(script)
                draft.fair("WG110", optimizer.call)
                draft.after(optimizer.statement, f"{mark('WG110')}{network.name} = {script.text(network.built)}")
                yield draft


@operator("freeze-network", "a network that should train is frozen before its optimizer is built")
def freeze_network(script: Script) -> Iterator[Draft]:
    """Whole networks: freezing a part of one (a backbone) is what people do on purpose."""
    for optimizer in optimizers(script):
        for network in networks(script):
            if network.leaf in optimizer.holds:
                draft = Draft(script)
                draft.before(optimizer.statement, f"{mark('WG108')}{network.name}.requires_grad_(False)")
                yield draft


@operator("drop-loss-term", "the critic's term is forgotten in the summed loss")
def drop_loss_term(script: Script) -> Iterator[Draft]:
    regressed = [r.node for r in regressions(script)]
    for total in summed(script):
        for node in spine(total):
            if not isinstance(node.op, ast.Add) or not _trains_critic(script, node.right, regressed):
                continue
            draft = Draft(script)
            draft.cut(script.span(node.left)[1], script.span(node.right)[1])
            statement = script.statement(total)
            following = [u.backward for u in updates(script) if u.backward.lineno >= statement.lineno]
            draft.fair("WG107", *following[:1])
            yield draft


def _trains_critic(script: Script, term: ast.expr, regressed: list[ast.expr]) -> bool:
    named = any(is_critic(n) for n in names(term) if n.endswith("loss"))
    return named or any(script.inside(r, term) for r in regressed)
