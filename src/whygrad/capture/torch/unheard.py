"""Our own work on tensors, of which nobody hears: no mode, no subclass and no wrapper of the script's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from whygrad.capture.guard import Guard

T = TypeVar("T")

_Functions: Any = torch._C.DisableTorchFunction
_Operations: Any = torch._C._DisableTorchDispatch
_enabled = torch.is_grad_enabled
_enable = torch._C._set_grad_enabled
_keys = torch._C._dispatch_keys
_PYTHON = torch._C.DispatchKey.Python


class Unheard:
    """torch's functions and operations run as if the script had put nothing in their way."""

    __slots__ = ("_functions", "_operations")

    def __enter__(self) -> None:
        self._functions, self._operations = _Functions(), _Operations()
        self._functions.__enter__()
        self._operations.__enter__()

    def __exit__(self, *_: object) -> None:
        self._operations.__exit__(None, None, None)
        self._functions.__exit__(None, None, None)


class NoHistory(Unheard):
    """The same, and no gradient is recorded. (`torch.no_grad` may be the script's own by now.)"""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        super().__enter__()
        self._before = _enabled()
        _enable(False)

    def __exit__(self, *_: object) -> None:
        _enable(self._before)
        super().__exit__()


class UnheardGuard(Guard):
    """Whatever runs behind it is unheard."""

    def unlocked(self, work: Callable[[], T], part: str) -> T | None:
        with Unheard():
            return super().unlocked(work, part)

    def final(self, work: Callable[[], T], part: str) -> T | None:
        with Unheard():
            return super().final(work, part)


def opaque(tensor: torch.Tensor) -> bool:
    """Whether its values cannot be read: fake tensors have none, wrappers hold them somewhere else, and the memory of
    weights that are gathered for each use is freed in between (on a CPU whoever reads it ends the process)."""
    if _keys(tensor).has(_PYTHON):
        return True
    try:
        return tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError):
        return False  # Sparse and nested tensors consist of several.
