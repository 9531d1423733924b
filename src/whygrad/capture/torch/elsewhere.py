"""Times at which torch does not compute but writes down what is to be computed, or when somebody else listens in."""

from __future__ import annotations

from collections.abc import Callable

import torch

from whygrad.capture.torch import functions

_tracing = torch._C._get_tracing_state
_listeners = torch._C._len_torch_dispatch_stack
_listener = torch._C._get_dispatch_mode
profiled: Callable[[], bool] = torch._C._autograd._profiler_enabled
_anomalies: Callable[[], bool] = torch.is_anomaly_enabled
_WRITERS = tuple(torch._C._TorchDispatchModeKey.__members__.values())
"""Listeners of torch's own: for tensors without values, for graphs, for programs without writes in place."""


def rewritten() -> bool:
    """Whether what runs now is a rehearsal: `jit.trace`, an export, a compiler's look at a program."""
    if _tracing() is not None:
        return True
    return bool(_listeners()) and any(_listener(key) is not None for key in _WRITERS)


def listened() -> bool:
    """Whether somebody hears of every operation: a dispatch mode of the script's."""
    return bool(_listeners())


def noted() -> bool:
    """Whether torch itself keeps note of what is differentiated: for a profile, or to find where a NaN began."""
    return profiled() or _anomalies()


def unfit() -> bool:
    """Whether operations of our own would end up in somebody else's recording."""
    if _listeners() or profiled() or _tracing() is not None or torch.compiler.is_compiling():
        return True
    if torch._C._are_functorch_transforms_active():
        return True
    return bool(functions.initialized() and functions.capturing())
