"""The two functions behind every way to ask for gradients: `autograd.backward` and `autograd.grad`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from whygrad.capture.torch.guard import Guard
from whygrad.capture.torch.patches import Patches

Tensor = torch.Tensor
_TENSOR_BACKWARD = torch.Tensor.backward.__code__


class Count:
    """Backward calls of all threads."""

    calls = 0


class Differentiating(threading.local):
    """Calls `before` and `after` around the outermost backward; a settled call site costs next to nothing."""

    def __init__(self, guard: Guard, settled: set[tuple[int, int]], count: Count) -> None:
        self.guard = guard
        self.settled = settled
        """Calls (code, instruction) that have been traced enough; emptied when tracing opens again."""
        self.inside = False
        self.count = count

    def patch(self, patches: Patches, before: Callable[..., Any], after: Callable[..., None]) -> None:
        # Tensor.backward comes here as well.
        for name in ("backward", "grad"):
            patches.set(torch.autograd, name, self._around(getattr(torch.autograd, name), name, before, after))

    def _around(
        self, original: Callable[..., Any], how: str, before: Callable[..., Any], after: Callable[..., None]
    ) -> Callable[..., Any]:
        def differentiate(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return original(*args, **kwargs)
            frame = sys._getframe(1)
            if frame.f_code is _TENSOR_BACKWARD and frame.f_back is not None:
                frame = frame.f_back
            self.inside = True
            self.count.calls += 1
            token = None
            if (id(frame.f_code), frame.f_lasti) not in self.settled:
                roots = args[0] if args else kwargs.get("outputs", kwargs.get("tensors"))
                token = self._begin(before, frame, roots, how)
            try:
                result = original(*args, **kwargs)
            except Exception as error:
                self._finish(after, token or frame, error)
                raise
            finally:
                self.inside = False
            if token is not None:
                self._finish(after, token, None)
            return result

        return differentiate

    def _begin(self, before: Callable[..., Any], frame: FrameType, roots: Any, how: str) -> Any:
        several = roots if isinstance(roots, (list, tuple)) else [roots]  # An iterator is not ours to use up.
        tensors = [t for t in several if isinstance(t, Tensor)]
        with torch._C.DisableTorchFunction():
            return self.guard(lambda: before(frame, tensors, how), "backward")

    def _finish(self, after: Callable[..., None], token: Any, error: Exception | None) -> None:
        with torch._C.DisableTorchFunction():
            self.guard(lambda: after(token, error), "backward")
