"""One question about one loss, while the window is open."""

from __future__ import annotations

import torch

from whygrad.capture.saying import said
from whygrad.capture.torch.assembly import parameters_of
from whygrad.capture.torch.capture import Capture
from whygrad.trace import Backward, Trace
from whygrad.trace.cuts import cut_between

Tensor = torch.Tensor


def ask(capture: Capture, loss: Tensor, lost: dict[str, Tensor]) -> dict[str, str] | None:
    """Why this one loss does not reach these parameters; None if the window did not see it made."""
    root = capture.shadow.get(loss)
    numbers = {found.number: name for name, t in lost.items() if (found := capture.parameters.find(t)) is not None}
    if root is None:
        return None
    with capture.mode.pause:
        backward = Backward(0, None, capture.extraction.take(root))
        trace = Trace(capture.extraction.graph, parameters_of(capture))
        found_cuts = cut_between(trace, backward, frozenset(numbers))
    return {numbers[n]: said(cut) for cut in found_cuts for n in cut.parameters if n in numbers}
