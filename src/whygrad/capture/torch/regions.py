"""Who switched gradient recording off: a stack of openers, as nested as the script nests them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any

import torch

from whygrad.capture import detours, frames
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch import functions
from whygrad.source import positions
from whygrad.trace import Region, Site

_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_DECORATING = os.path.join(_TORCH, "utils", "_contextlib.py")
_CHECKPOINT = os.path.join(_TORCH, "utils", "checkpoint.py")
_DISTRIBUTIONS = os.path.join(_TORCH, "distributions") + os.sep
_SWITCH = "set_grad_enabled(False)"
_NAMES = ("no_grad", "inference_mode", "set_grad_enabled")
_enable = torch._C._set_grad_enabled


class OpenRegion:
    """A region that is or was open; its place is worked out when somebody asks."""

    __slots__ = ("by", "code", "decorated", "how", "id", "inner", "lasti")

    def __init__(self, number: int, how: str, frame: FrameType | None, lasti: int) -> None:
        self.id = number
        self.how = how
        self.by = "user"
        self.inner: frames.Place | None = None
        self.decorated = _decorated(frame)
        self.code: CodeType | None = None
        self.lasti = lasti
        if self.decorated is None:
            self.by = _opened_by(frame)
            self.code, found, self.inner = frames.locate(frame)
            if frame is None or self.code is not frame.f_code:
                self.lasti = found  # The opener's own frame has moved on; those above it wait at their call.

    def freeze(self) -> Region:
        if self.decorated is not None:
            site: Site | None = positions.decorator(self.decorated, _NAMES)
        else:
            site = frames.site(self.code, self.lasti, self.inner)
        return Region(self.id, self.how, self.by, site)


class _Switches(threading.local):
    """Per thread: the switches that are in force, outermost first."""

    def __init__(self) -> None:
        # Entry: owner, off?, how, frame, instruction, and the region once it was asked for.
        self.stack: list[list[Any]] = []


class Regions:
    """Knows at any moment which region keeps operations from being recorded."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._switches = _Switches()
        self._count = 0

    def current(self) -> OpenRegion | None:
        """The region that keeps the present operation from being recorded."""
        stack = self._switches.stack
        if not stack or not stack[-1][1]:
            return None
        entry = stack[-1]
        if entry[5] is None:
            self._count += 1
            entry[5] = OpenRegion(self._count, entry[2], entry[3], entry[4])
        return entry[5]  # type: ignore[no-any-return]

    def enter(self, owner: int, off: bool, how: str, frame: FrameType) -> None:
        self._switches.stack.append([owner, off, how, frame, frame.f_lasti, None])
        if off and frame.f_code.co_filename == contextlib.__file__:
            self.current()  # An ExitStack returns at once, and the user's frame moves on.

    def leave(self, owner: int) -> None:
        stack = self._switches.stack
        for index in range(len(stack) - 1, -1, -1):
            if stack[index][0] == owner:
                del stack[index]
                return

    def left(self, owner: int) -> None:
        """torch has switched back; a failure of our own bookkeeping is not the script's."""
        self._guard.unlocked(lambda: self.leave(owner), "region")

    def switch(self, off: bool, how: str, frame: FrameType) -> None:
        """`torch.set_grad_enabled(...)` as a plain call: in force until the next one."""
        stack = self._switches.stack
        if stack and stack[-1][0] == 0:
            stack.pop()
        self.enter(0, off, how, frame)
        self.current()  # Its frame will be gone when somebody asks.
        stack[-1][3] = None

    def drawn(self, frame: FrameType | None) -> OpenRegion:
        """A draw that stands for itself: `torch.normal(mean, std)`."""
        self._count += 1
        region = OpenRegion(self._count, "torch.normal", frame, frame.f_lasti if frame is not None else 0)
        region.by = "sample"
        return region

    def function(self, frame: FrameType, by: str) -> int:
        """The inside of a custom autograd function, where torch records nothing."""
        self.enter(-1, True, "autograd.Function", frame)
        region = self.current()
        assert region is not None
        region.by = by
        return -1

    def follow(self, during: Detours) -> None:
        """Follow every way to switch gradient recording."""
        mode = torch.autograd.grad_mode
        during.set(mode.set_grad_enabled, "__init__", self._switching, finish=_switch)
        for cls, how, off in (
            (mode.no_grad, "no_grad", lambda _: True),
            (mode.enable_grad, "enable_grad", lambda _: False),
            (mode.inference_mode, "inference_mode", lambda owner: bool(getattr(owner, "mode", True))),
            (mode.set_grad_enabled, _SWITCH, lambda owner: not owner.mode),
        ):
            during.set(cls, "__enter__", partial(self._entering, how=how, off=off))
            during.set(cls, "__exit__", self._leaving, finish=self._left)

    def _switching(self, original: Function) -> Function:
        def init(owner: Any, mode: Any) -> None:
            frame = detours.caller()
            original(owner, mode)
            if not frame.f_code.co_filename.startswith(_TORCH):  # no_grad and optimizers switch by this, too
                self._guard(lambda: self.switch(not mode, _SWITCH, frame), "region")

        return init

    def _entering(self, original: Function, how: str, off: Callable[[Any], bool]) -> Function:
        def enter(owner: Any) -> Any:
            before = owner.prev if how == _SWITCH else functions.recorded()
            try:
                frame = detours.caller()
                result = original(owner)
                self._guard(lambda: self._entered(owner, off(owner), how, frame), "region")
                return result
            except BaseException:
                _enable(before)  # The script is never inside, and does not come to leave.
                raise

        return enter

    def _leaving(self, original: Function) -> Function:
        def leave(owner: Any, *raised: Any) -> Any:
            result = original(owner, *raised)
            self.left(id(owner))
            return result

        return leave

    def _left(self, owner: Any, *_: Any) -> None:
        _switch_back(owner)
        self.leave(id(owner))

    def _entered(self, owner: Any, off: bool, how: str, frame: FrameType) -> None:
        stack = self._switches.stack
        if how == _SWITCH and stack and stack[-1][0] == 0:
            stack.pop()  # The constructor has already switched: this is its own `with`.
        self.enter(id(owner), off, how, frame)


def _switch(_: Any, mode: Any) -> None:
    if isinstance(mode, bool):
        _enable(mode)


def _switch_back(owner: Any) -> None:
    """What `__exit__` does, done once more if it was done."""
    inner = getattr(owner, "_inference_mode_context", None)
    if inner is not None:
        inner.__exit__(None, None, None)
    elif hasattr(owner, "prev"):
        _enable(owner.prev)


def _decorated(frame: FrameType | None) -> CodeType | None:
    """The user's function whose decorator opened the region, if one did."""
    while frame is not None and frame.f_code.co_filename == _DECORATING:
        code = getattr(frames.variables(frame).get("func"), "__code__", None)
        if code is not None and frames.kind_of(code.co_filename) == frames.USER:
            return code  # type: ignore[no-any-return]
        frame = frame.f_back
    return None


def _opened_by(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_DISTRIBUTIONS):
            return "sample"
        if file == _CHECKPOINT:
            return "checkpoint"
        kind = frames.kind_of_code(frame.f_code)
        if kind == frames.USER:
            return "user"
        if kind == frames.LIBRARY:
            return "library"
        frame = frame.f_back
    return "library"
