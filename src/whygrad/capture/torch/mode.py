"""The mode that shows every torch call of a thread to the recorder."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from whygrad.capture.guard import LONGEST_WAIT, Guard
from whygrad.capture.torch import hooks
from whygrad.capture.torch.recording import Recorder
from whygrad.capture.torch.vocabulary import Role, role


class Pause(threading.local):
    """How many times over recording is suspended in this thread: inside backward, a step, or ourselves."""

    depth = 0
    aside = 0
    """Calls that pass through the mode at this moment: torch takes it off the stack meanwhile, and puts it back."""


class ShadowMode(TorchFunctionMode):
    """Sees every torch call of its thread while it is on the stack."""

    def __init__(self, recorder: Recorder, guard: Guard) -> None:
        super().__init__()
        self.recorder = recorder
        self.guard = guard
        self.pause = Pause()
        self.live = False
        """Off again: a thread that still has the mode on its stack passes straight through."""
        self.calls = 0
        self.hooked = False
        """The user has registered a hook on some tensor."""
        self.on_error: Callable[[Any, Any, Exception, FrameType], None] = lambda *_: None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if not self.live or self.pause.depth:
            self.pause.aside += 1
            try:
                return func(*args, **kwargs)
            finally:
                self.pause.aside -= 1
        kind, name = role(func)
        if name == "retain_grad":
            self.hooked = True
        if name == "register_hook":
            return self._hooked(func, args, kwargs, sys._getframe(1))
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            if name != "backward":
                self._raised(name, args, error, sys._getframe(1))
            raise
        if kind is not Role.IGNORE and not torch._C._are_functorch_transforms_active():
            self.calls += 1
            self.pause.depth += 1
            taken = self.guard.alone.acquire(timeout=LONGEST_WAIT)
            try:
                self.recorder.record(func, args, kwargs, out, sys._getframe(1))
            except Exception as error:
                self.guard.fail(error, "recording")
            finally:
                self.pause.depth -= 1
                if taken:
                    self.guard.alone.release()
        return out

    def _raised(self, name: str, args: Any, error: Exception, frame: FrameType) -> None:
        self.pause.depth += 1
        try:
            self.guard(lambda: self.on_error(name, args, error, frame), "error")
        finally:
            self.pause.depth -= 1

    def _hooked(self, func: Any, args: Any, kwargs: Any, frame: FrameType) -> Any:
        self.hooked = True
        with torch._C.DisableTorchFunction():
            recorder = self.recorder
            after = self.guard(lambda: hooks.observe(recorder.node_of(args[0]), args[0], frame, self.guard), "hook")
            out = func(*args, **kwargs)
            if after is not None:
                self.guard(after, "hook")
        return out
