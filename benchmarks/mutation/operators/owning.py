"""Parameters in an optimizer that should not step them, or in two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.naming import is_target_network
from mutation.networks import Network, Optimizer, copies, forwards, is_region, networks, optimizers
from mutation.registry import operator
from mutation.script import Script, leaf


@operator("train-target", "the target network is in the optimizer and its forward carries gradient")
def train_target(script: Script) -> Iterator[Draft]:
    copied = copies(script)
    for optimizer in optimizers(script):
        for network in networks(script):
            online = leaf(copied.get(network.leaf, ""))
            if online not in optimizer.holds or not is_target_network(network.leaf):
                continue
            calls = forwards(script, {network.leaf})
            regions = {r: None for c in calls for r in script.ancestors(c) if isinstance(r, ast.With) and is_region(r)}
            draft = Draft(script)
            _add(draft, optimizer, network)
            draft.fair("WG202", optimizer.call, *(script.statement(c) for c in calls))
            for region in regions:
                draft.unwrap(region)
            yield draft


@operator("own-twice", "the network of one optimizer is also in another")
def own_twice(script: Script) -> Iterator[Draft]:
    every = optimizers(script)
    for optimizer in every:
        for other in every:
            for network in networks(script):
                if network.leaf in other.holds and network.leaf not in optimizer.holds and optimizer.holds:
                    draft = Draft(script)
                    _add(draft, optimizer, network)
                    second = max(optimizer, other, key=lambda o: o.call.lineno)
                    draft.fair("WG306", optimizer.call, second.call)
                    yield draft


@operator("list-twice", "a network is twice in one optimizer")
def list_twice(script: Script) -> Iterator[Draft]:
    for optimizer in optimizers(script):
        for network in networks(script):
            if network.leaf in optimizer.holds and not isinstance(optimizer.call.args[0], ast.List):
                draft = Draft(script)
                _add(draft, optimizer, network)
                draft.fair("WG306", optimizer.call)
                yield draft


def _add(draft: Draft, optimizer: Optimizer, network: Network) -> None:
    held = optimizer.call.args[0]
    text = draft.script.text(held)
    if isinstance(held, ast.BinOp):
        draft.replace(held, f"{text} + list({network.name}.parameters())")
    elif isinstance(held, ast.List):
        end = draft.script.span(held)[1] - 1
        draft.cut(end, end, f", *{network.name}.parameters()")
    else:
        draft.replace(held, f"[*{text}, *{network.name}.parameters()]")
