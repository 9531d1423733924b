"""Who switched gradient recording off: a stack of openers, as nested as the script nests them.

Followed for the whole run, since a switch that is never undone may lie anywhere. The replaced
`no_grad` calls torch's own switch directly, which makes up for the bookkeeping.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

import torch

from whygrad.capture.torch import frames
from whygrad.capture.torch.guard import Guard
from whygrad.capture.torch.patches import Patches
from whygrad.source import positions
from whygrad.trace import Region, Site

_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_OPTIMIZER = os.path.join(_TORCH, "optim", "optimizer.py")
_DECORATING = os.path.join(_TORCH, "utils", "_contextlib.py")
_CHECKPOINT = os.path.join(_TORCH, "utils", "checkpoint.py")
_DISTRIBUTIONS = os.path.join(_TORCH, "distributions") + os.sep
_NAMES = ("no_grad", "inference_mode", "set_grad_enabled")


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


class Regions(threading.local):
    """Per thread: the switches that are in force, outermost first."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        # Entry: owner, off?, how, frame, instruction, and the region once it was asked for.
        self._stack: list[list[Any]] = []
        self._count = 0

    def current(self) -> OpenRegion | None:
        """The region that keeps the present operation from being recorded."""
        if not self._stack or not self._stack[-1][1]:
            return None
        entry = self._stack[-1]
        if entry[5] is None:
            self._count += 1
            entry[5] = OpenRegion(self._count, entry[2], entry[3], entry[4])
        return entry[5]  # type: ignore[no-any-return]

    def enter(self, owner: int, off: bool, how: str, frame: FrameType) -> None:
        self._stack.append([owner, off, how, frame, frame.f_lasti, None])
        if off and frames.kind_of(frame.f_code.co_filename) == frames.STDLIB:
            self.current()  # An ExitStack returns at once, and the user's frame moves on.

    def leave(self, owner: int) -> None:
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index][0] == owner:
                del self._stack[index]
                return

    def _entered(self, owner: int, off: bool, how: str, frame: FrameType) -> None:
        """torch has switched; a failure of our own bookkeeping is not the script's."""
        try:
            self.enter(owner, off, how, frame)
        except Exception as error:
            self._guard.fail(error, "region")

    def left(self, owner: int) -> None:
        try:
            self.leave(owner)
        except Exception as error:
            self._guard.fail(error, "region")

    def switch(self, off: bool, how: str, frame: FrameType) -> None:
        """`torch.set_grad_enabled(...)` as a plain call: in force until the next one."""
        if self._stack and self._stack[-1][0] == 0:
            self._stack.pop()
        self.enter(0, off, how, frame)
        self.current()  # Its frame will be gone when somebody asks.
        self._stack[-1][3] = None

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

    def patch(self, patches: Patches) -> None:
        """Follow every way to switch gradient recording."""
        mode = torch.autograd.grad_mode
        self._patch_switching(patches, mode.no_grad, False)
        self._patch_switching(patches, mode.enable_grad, True)
        self._patch_inference(patches, mode.inference_mode)
        self._patch_set_grad_enabled(patches, mode.set_grad_enabled)

    def _patch_switching(self, patches: Patches, cls: Any, enabled: bool) -> None:
        switch, state, how = torch._C._set_grad_enabled, torch.is_grad_enabled, cls.__name__

        def enter(owner: Any) -> None:
            owner.prev = state()
            switch(enabled)
            self._entered(id(owner), not enabled, how, sys._getframe(1))

        def leave(owner: Any, *_: Any) -> None:
            switch(owner.prev)
            self.left(id(owner))

        patches.set(cls, "__enter__", enter)
        patches.set(cls, "__exit__", leave)

    def _patch_inference(self, patches: Patches, cls: Any) -> None:
        original_enter, original_leave = cls.__enter__, cls.__exit__

        def enter(owner: Any) -> Any:
            result = original_enter(owner)
            self._entered(id(owner), bool(getattr(owner, "mode", True)), "inference_mode", sys._getframe(1))
            return result

        def leave(owner: Any, *exc: Any) -> Any:
            try:
                return original_leave(owner, *exc)
            finally:
                self.left(id(owner))

        patches.set(cls, "__enter__", enter)
        patches.set(cls, "__exit__", leave)

    def _patch_set_grad_enabled(self, patches: Patches, cls: Any) -> None:
        original_init, original_enter, original_leave = cls.__init__, cls.__enter__, cls.__exit__
        how = "set_grad_enabled(False)"

        def init(owner: Any, mode: bool) -> None:
            original_init(owner, mode)
            frame = sys._getframe(1)
            if frame.f_code.co_filename != _OPTIMIZER:  # optimizers switch at every step
                self._guard(lambda: self.switch(not mode, how, frame), "region")

        def enter(owner: Any) -> Any:
            result = original_enter(owner)
            if self._stack and self._stack[-1][0] == 0:
                self._stack.pop()  # The constructor has already switched: this is its own `with`.
            self._entered(id(owner), not owner.mode, how, sys._getframe(1))
            return result

        def leave(owner: Any, *exc: Any) -> Any:
            try:
                return original_leave(owner, *exc)
            finally:
                self.left(id(owner))

        patches.set(cls, "__init__", init)
        patches.set(cls, "__enter__", enter)
        patches.set(cls, "__exit__", leave)


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
        kind = frames.kind_of(file)
        if kind == frames.USER:
            return "user"
        if kind == frames.LIBRARY:
            return "library"
        frame = frame.f_back
    return "library"
