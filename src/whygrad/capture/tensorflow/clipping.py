"""Clipping: by the user's call or by the optimizer's own limits, and the norms before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygrad.capture.tensorflow.places import Where
from whygrad.trace import Clip

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture
    from whygrad.capture.tensorflow.stepping import Held, Pairs


class Clipping:
    """What limits the gradients of a step."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.clips: list[Clip] = []

    def applied(self, held: Held, pairs: Pairs, place: Where) -> None:
        """The optimizer's own `clipnorm`, `global_clipnorm` and `clipvalue`."""
        del held, pairs, place
