"""`torch.utils.swap_tensors` refuses tensors that somebody refers to, weakly even: meanwhile we let go of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import detours, standins
from whygrad.capture.detours import Detours, Function

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture


def follow(always: Detours, capture: Capture) -> None:
    def swapping(original: Function) -> Function:
        def swap_tensors(*args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
            capture.guard(lambda: _let_go(capture, tensors), "parameter")
            try:
                return standins.call(original, args, kwargs, frame)
            finally:
                capture.guard(lambda: capture.parameters.take_up(tensors), "parameter")

        return swap_tensors

    if hasattr(torch.utils, "swap_tensors"):
        always.set(torch.utils, "swap_tensors", swapping)


def _let_go(capture: Capture, tensors: list[torch.Tensor]) -> None:
    """A tensor that is swapped is another one afterwards: what was known of its values is void."""
    for tensor in tensors:
        capture.touching.families.let_go(tensor)
    capture.parameters.let_go(tensors)
    capture.sampling.give_up()
    capture.gradients.lent.clear()
    for tensor in tensors:
        capture.shadow.forget(tensor)
        capture.keeping.forget(tensor)
