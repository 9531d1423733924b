"""The mode that shows every torch call of a thread to the recorder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function

from whygrad.capture import frames, standins
from whygrad.capture.blame import our_own
from whygrad.capture.guard import LONGEST_WAIT, Guard
from whygrad.capture.torch import hooks
from whygrad.capture.torch.elsewhere import listened, profiled, rewritten
from whygrad.capture.torch.pause import Pause
from whygrad.capture.torch.recording import Recorder
from whygrad.capture.torch.unheard import unheard
from whygrad.capture.torch.vocabulary import Role, role

REPEATED = 4_000
"""Operations in a row without one from a new place: the form of what repeats is known."""
_packing = torch._C._autograd._top_saved_tensors_default_hooks
_GRADIENT, _THREADS = torch._C._set_grad_enabled, torch._C._set_multithreading_enabled
"""What is switched and switched back goes straight on: an exception of the script's that landed in between would leave
it switched for good. (These two are all that torch 2.13 asks a mode about, found by trying.)"""
_DISPATCHING = handle_torch_function.__code__
_methods: dict[Any, Any] = {}
"""By what stands in its place: methods of tensors, written in C."""
_asking: dict[CodeType, FunctionType] = {}
"""By instructions: torch's functions that asked under a name that is not theirs any more."""


class ShadowMode(TorchFunctionMode):
    """Sees every torch call of its thread while it is on the stack."""

    def __init__(self, recorder: Recorder, guard: Guard) -> None:
        super().__init__()
        self.recorder = recorder
        self.guard = guard
        self.pause = Pause()
        self.live = False
        """Off again: a thread that still has the mode on its stack passes straight through."""
        self.followed: set[int] = set()
        """Threads that have the mode on their stack. (While it is asked it is off, so the stack does not tell.)"""
        self.whole: set[int] = set()
        """Threads of which nothing was missed since tracing began the latest time, or since their latest update."""
        self.calls = 0
        self.long_at = 0
        """The call at which it has been long that anything new was called, or a loss differentiated."""
        self.on_long: Callable[[], None] = lambda: None
        self.hooked = False
        """The user has registered a hook on some tensor, or on the values that are saved for backward, or has one of
        autograd's nodes in hand, which take hooks that nobody can see."""
        self.on_error: Callable[[Any, Any, Exception, FrameType], None] = lambda *_: None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _GRADIENT or func is _THREADS or torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))  # First of all: the compiler follows us up to here.
        kwargs, frame = kwargs or {}, sys._getframe(1)
        calling, call = frame, func
        if frame.f_code is _DISPATCHING and frame.f_back is not None:
            asking = frame.f_back
            calling = asking.f_back or frame
            if isinstance(func, FunctionType) and func.__code__ is not asking.f_code:
                func, call, kwargs = _resumed(asking, args, kwargs)
        elif isinstance(func, FunctionType):
            func = call = _method(func)
        if not self.live or self.pause.depth or rewritten():
            try:
                self.pause.aside += 1
                return standins.call(call, args, kwargs, calling)
            finally:
                self.pause.aside = max(0, self.pause.aside - 1)
        kind, name = role(func)
        if name == "retain_grad":
            self.hooked = True
        if name == "register_hook":
            return self._hooked(call, args, kwargs, calling)
        try:
            out = standins.call(call, args, kwargs, calling)
        except Exception as error:
            if name != "backward":
                self._raised(name, args, error, frame)
            raise
        if name == "grad_fn" and out is not None:
            self.hooked = True
        if kind is not Role.IGNORE and not torch._C._are_functorch_transforms_active():
            self.calls += 1
            strange = bool(types) or kind is Role.COPY  # Of what is copied torch tells no types.
            self._record(func, strange, args, kwargs, out, frame)
        return out

    def something_new(self) -> None:
        """An operation from a place that was not known."""
        self.long_at = self.calls + REPEATED

    def _record(self, func: Any, strange: bool, args: Any, kwargs: Any, out: Any, frame: FrameType) -> None:
        self.hooked = self.hooked or _packing(True) is not None
        self.pause.begin()
        taken = self.guard.alone.acquire(timeout=LONGEST_WAIT)
        try:
            if self.calls >= self.long_at:
                self.on_long()
            if strange or listened() or profiled():  # The shape of such a tensor would be the user's own function's.
                unheard(self.recorder.record, func, args, kwargs, out, frame)
            else:
                self.recorder.record(func, args, kwargs, out, frame)
        except BaseException as error:
            if not isinstance(error, Exception) or not our_own(error):
                self.guard.on_interrupted()
                raise
            self.guard.fail(error, "recording")
        finally:
            self.pause.end()
            if taken:
                self.guard.alone.release()

    def _raised(self, name: str, args: Any, error: Exception, frame: FrameType) -> None:
        with self.pause:
            self.guard(lambda: self.on_error(name, args, error, frame), "explanations")

    def _hooked(self, call: Any, args: Any, kwargs: Any, calling: FrameType) -> Any:
        self.hooked = True
        handle = standins.call(call, args, kwargs, calling)
        self.guard(lambda: self._observe(args[0], handle, calling), "hooks")
        return handle

    def _observe(self, tensor: torch.Tensor, handle: Any, calling: FrameType) -> None:
        hooks.observe(self.recorder.node_of(tensor), tensor, handle, calling, self.guard, lambda: self.live)


def _method(func: Any) -> Any:
    """A method written in C asks by its public name, too, where the script may have put one of its own."""
    own = _methods.get(func)
    if own is None:
        name = next((name for name, found in vars(torch.Tensor).items() if found is func), "")
        own = _methods[func] = getattr(torch._C.TensorBase, name, func)
    return own


def _resumed(asking: FrameType, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """What torch writes in Python asks the mode from inside of itself, and names itself by its public name.

    Under that name there may be another function by now: one of the script's, which has been called already, or one
    that leads past us. So what goes on is the very function that asked, with whatever it left out when it asked.
    """
    code = asking.f_code
    known = _asking.get(code)
    if known is None:
        empty = tuple(CellType() for _ in code.co_freevars)
        known = _asking[code] = FunctionType(code, asking.f_globals, code.co_name, None, empty)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    missing = [name for name in names[min(len(args), code.co_argcount) :] if name not in kwargs]
    if not missing and not code.co_freevars:
        return known, known, kwargs
    values = frames.variables(asking)
    kwargs = {**kwargs, **{name: values[name] for name in missing if name in values}}
    cells = tuple(CellType(values[name]) if name in values else CellType() for name in code.co_freevars)
    return known, FunctionType(code, asking.f_globals, code.co_name, None, cells), kwargs
