"""Our own work on tensors: no mode, subclass, wrapper or profiler of the script's hears of it, and no compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from whygrad.capture.guard import Guard
from whygrad.capture.torch.elsewhere import profiled

T = TypeVar("T")

# All written in C: a context manager of Python's is left without its effect when an exception of the script's lands
# before the first line of its `__exit__`.
NoFunctions: Any = torch._C.DisableTorchFunction
NoOperations: Any = torch._C._DisableTorchDispatch
NoHistory: Any = torch._C._AutoDispatchBelowAutograd
"""No gradient is recorded. (`torch.no_grad` may be the script's own by now.)"""
compile_by: Callable[[Any], Any] = torch._C._dynamo.eval_frame.set_eval_frame
"""Who compiles what this thread calls: a callback of the compiler's while a compiled function runs, else None. It would
take up our frames, too, and count them."""
_count_operations: Callable[[bool], None] = torch._C._autograd._enable_record_function
_keys = torch._C._dispatch_keys
_PYTHON = torch._C.DispatchKey.Python


class _Silence(threading.local):
    """Whether this thread's profiler is shut out already."""

    kept = False


_silence = _Silence()


def unheard(work: Callable[..., T], *given: Any) -> T:
    compiler = compile_by(None)
    try:
        with NoFunctions(), NoOperations():
            return work(*given) if not profiled() or _silence.kept else _uncounted(work, *given)
    finally:
        compile_by(compiler)


def _uncounted(work: Callable[..., T], *given: Any) -> T:
    try:
        _silence.kept = True
        _count_operations(False)
        return work(*given)
    finally:
        _count_operations(True)
        _silence.kept = False


class UnheardGuard(Guard):
    """Whatever runs behind it is unheard."""

    def unlocked(self, work: Callable[[], T], part: str) -> T | None:
        return unheard(super().unlocked, work, part)

    def final(self, work: Callable[[], T], part: str) -> T | None:
        return unheard(super().final, work, part)


def wrapper(tensor: torch.Tensor) -> bool:
    """Whether its operations are the affair of Python code: without that, whoever computes with it reads memory that is
    not there, and ends the process (torch 2.13)."""
    return bool(_keys(tensor).has(_PYTHON))


def opaque(tensor: torch.Tensor) -> bool:
    """Whether its values cannot be read: fake tensors have none, wrappers hold them somewhere else, and the memory of
    weights that are gathered for each use is freed in between (on a CPU whoever reads it ends the process)."""
    if wrapper(tensor):
        return True
    try:
        return tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError):
        return False  # Sparse and nested tensors consist of several.
