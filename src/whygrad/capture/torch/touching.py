"""What the user does to parameters themselves: writes into them, freezes them, reads them."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

import torch

from whygrad.capture import frames
from whygrad.capture.torch.entrances import sources
from whygrad.capture.torch.families import Families
from whygrad.capture.torch.naming import enclosing_modules
from whygrad.capture.torch.shadow import Node

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

Tensor = torch.Tensor
_MOVING = torch.nn.Module._apply.__code__
"""`module.to(device)` and its kin write every parameter back as it was."""
BLENDS = frozenset({"lerp", "add"})


class Touching:
    """Called when an operation touches a parameter outside of steps."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.families = Families(capture.parameters)

    def written(self, tensor: Tensor, node: Node, operands: list[Node], frame: FrameType) -> None:
        found: set[int] = set()
        for operand in operands:
            found |= sources(operand)
        self.capture.errors.overwrote(tensor, node)
        if _initialising(node):
            return
        known = self.capture.parameters.register(tensor)
        own, loaded = known.number, known.loaded
        blended = node.name in BLENDS or (own in found and len(found) > 1)
        site = frames.site(node.code, node.lasti, node.inner)
        self.capture.protocol.copied(tensor, found, site, blended, self.capture.shadow.serial)
        if frame.f_code is _MOVING:
            known.loaded = loaded

    def froze(self, tensor: Tensor, on: bool, frame: FrameType) -> None:
        known = self.capture.parameters.register(tensor)
        if on:
            known.frozen = None
            known.wanted = True
        elif known.frozen is None:
            known.frozen = frames.user_site(frame)

    def used(self, number: int) -> None:
        """A parameter is read for the first time: together with whose?"""
        known = self.capture.parameters[number]
        known.used = True
        self.capture.weights.used(known)
        if known.family is None:
            known.family = self.families.around(enclosing_modules(sys._getframe(1)), self.capture.clock.now)


def _initialising(node: Node) -> bool:
    return node.name in ("random", "fill") and not any(operand.parameter is None for operand, _, _ in node.inputs[1:])
