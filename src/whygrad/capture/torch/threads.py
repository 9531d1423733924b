"""torch's function modes belong to one thread: threads started while tracing get the mode too."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch
import torch.overrides
from torch.overrides import TorchFunctionMode

from whygrad.capture import tracebacks
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch.mode import ShadowMode


def follow(during: Detours, mode: ShadowMode, guard: Guard) -> None:
    """Put the mode on the stack of every thread that starts from now on."""

    def starting(original: Function) -> Function:
        def bootstrap(thread: Any) -> None:
            # Only this thread's own stack, without the lock: whoever started it may wait for it while we work.
            guard.unlocked(lambda: _begin(mode), "thread")
            guard.unlocked(lambda: _trim_what_ends(thread), "thread")
            try:
                original(thread)
            finally:
                guard.unlocked(lambda: _end(mode), "thread")

        return bootstrap

    # `run` may be overridden by a subclass; this is the one function that every thread goes through.
    during.set(threading.Thread, "_bootstrap_inner", starting)


def _begin(mode: ShadowMode) -> None:
    insert(mode)
    mode.followed.add(threading.get_ident())
    mode.whole.add(threading.get_ident())


def _end(mode: ShadowMode) -> None:
    mode.followed.discard(threading.get_ident())  # The next thread may get the same number.
    mode.whole.discard(threading.get_ident())
    remove(mode)


def _trim_what_ends(thread: Any) -> None:
    """The exception that ends a thread is shown without our frames."""
    show = getattr(thread, "_invoke_excepthook", None)
    if show is None:
        return

    def trimmed(failed: Any) -> None:
        error = sys.exception()
        if error is not None:
            tracebacks.trim(error)
        show(failed)

    thread._invoke_excepthook = trimmed


def insert(mode: TorchFunctionMode) -> None:
    """Put the mode underneath the user's own: they are left by popping the top, which must stay theirs.

    Only the default device lies deeper; torch insists on finding it at the bottom.
    """
    default = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    above: list[Any] = []
    while torch.overrides._get_current_function_mode_stack():
        top = torch.overrides._pop_mode()
        if top is default:
            torch.overrides._push_mode(top)
            break
        above.append(top)
    torch.overrides._push_mode(mode)
    for other in reversed(above):
        torch.overrides._push_mode(other)


def remove(mode: TorchFunctionMode) -> bool:
    """Take the mode off this thread's stack, wherever it is on it; false where it is not."""
    if not any(found is mode for found in torch.overrides._get_current_function_mode_stack()):
        return False
    above: list[Any] = []
    while (top := torch.overrides._pop_mode()) is not mode:
        above.append(top)
    for other in reversed(above):
        torch.overrides._push_mode(other)
    return True
