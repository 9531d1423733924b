"""Gradient clipping in the wrong place, on the wrong parameters or to nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutation.draft import Draft
from mutation.networks import networks
from mutation.registry import operator
from mutation.script import Script, dotted, leaf, method, receiver
from mutation.updates import clips, updates


@operator("clip-after-step", "gradients are clipped after the step")
def clip_after_step(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        if update.clip is not None:
            draft = Draft(script)
            draft.move_after(update.clip, update.step, "WG304")
            yield draft


@operator("clip-before-backward", "gradients are clipped before they exist")
def clip_before_backward(script: Script) -> Iterator[Draft]:
    for update in updates(script):
        backward = script.level_with(update.backward, update.step)
        if update.clip is not None and backward is not None:
            draft = Draft(script)
            draft.move_before(update.clip, backward, "WG304")
            yield draft


@operator("clip-other-network", "another network's gradients are clipped")
def clip_other_network(script: Script) -> Iterator[Draft]:
    for call in clips(script):
        held = call.args[0]
        if not isinstance(held, ast.Call) or method(held) != "parameters":
            continue
        own = dotted(receiver(held)) or ""
        others = [n for n in networks(script) if n.leaf != leaf(own) and n.name.count(".") == own.count(".")]
        for other in others[:1]:
            draft = Draft(script)
            draft.fair("WG304", call)
            draft.replace(receiver(held), other.name)
            yield draft


@operator("clip-to-zero", "the norm is clipped to 0")
def clip_to_zero(script: Script) -> Iterator[Draft]:
    yield from _bounded(script, "0.0")


@operator("clip-to-nothing", "the norm is clipped to 1e-6")
def clip_to_nothing(script: Script) -> Iterator[Draft]:
    yield from _bounded(script, "1e-6")


def _bounded(script: Script, bound: str) -> Iterator[Draft]:
    for call in clips(script):
        bounds = [*call.args[1:2], *(k.value for k in call.keywords if k.arg in ("max_norm", "clip_value"))]
        for value in bounds[:1]:
            draft = Draft(script)
            draft.fair("WG305", call)
            draft.replace(value, bound)
            yield draft
