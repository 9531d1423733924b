"""The two functions behind every way to ask for gradients: `autograd.backward` and `autograd.grad`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from whygrad.capture.guard import Guard
from whygrad.capture.patches import Patches
from whygrad.capture.torch.failing import finite

Tensor = torch.Tensor
_TENSOR_BACKWARD = torch.Tensor.backward.__code__


PASSED = 6
"""While nothing is traced, so many calls pass from one that is looked at to the next: a new call site shows soon
enough. Seven calls make a turn, so that of losses that alternate each gets its look."""
LONGEST_WAIT = 20.0
"""Seconds for which a thread waits for another one's traced backward. On a busy machine the first one of a run takes
more than a second; that threads wait for each other inside their backwards is possible, and never seen."""


class Count:
    """Backward calls of all threads, and how many of the next ones may simply pass."""

    __slots__ = ("_counted", "_measured", "_quiet", "passing")

    def __init__(self) -> None:
        self.passing = 0
        """Calls before the next one that is looked at; they are counted ahead."""
        self._counted = 0
        self._quiet = self._measured = False

    @property
    def calls(self) -> int:
        return self._counted - self.passing

    @property
    def quiet(self) -> bool:
        """Nothing is traced at present."""
        return self._quiet

    @quiet.setter
    def quiet(self, quiet: bool) -> None:
        self.attend()
        self._quiet = quiet

    @property
    def measured(self) -> bool:
        """What the next backward leaves is to be measured."""
        return self._measured

    @measured.setter
    def measured(self, measured: bool) -> None:
        self.attend()
        self._measured = measured

    def attend(self) -> None:
        """The next call is looked at."""
        self._counted -= self.passing
        self.passing = 0

    def called(self) -> None:
        """A call that is looked at; while nothing is traced or measured, the next ones pass."""
        self.attend()
        self._counted += 1
        if self._quiet and not self._measured:
            self._counted += PASSED
            self.passing = PASSED


class _Inside(threading.local):
    """Whether this thread is differentiating already."""

    flag = False


class Differentiating:
    """Calls `before` and `after` around the outermost backward; a settled call site costs next to nothing."""

    def __init__(self, guard: Guard, settled: set[tuple[int, int]], count: Count) -> None:
        self.guard = guard
        self.settled = settled
        """Calls (code, instruction) that have been traced enough; emptied when tracing opens again."""
        self._inside = _Inside()
        self._turn = threading.Lock()
        self.count = count
        self.failed: Callable[[Tensor, FrameType], None] = lambda *_: None
        self.deposited: Callable[[Any, FrameType], None] = lambda *_: None

    def _take_turn(self) -> bool:
        """One traced backward at a time: we read gradients, and another thread's engine writes its own without the GIL.

        Seen as a crash on torch 2.13. A backward inside a backward (a checkpoint) belongs to the outer one's turn.
        """
        nested: int = torch._C._current_graph_task_id()
        if nested >= 0:
            return False
        taken = self._turn.acquire(timeout=LONGEST_WAIT)
        if not taken:
            self.guard.fail(TimeoutError("two threads' backwards wait for each other"), "backward")
        return taken

    @property
    def inside(self) -> bool:
        return self._inside.flag

    def patch(self, patches: Patches, before: Callable[..., Any], after: Callable[..., None]) -> None:
        # Tensor.backward comes here as well.
        for name in ("backward", "grad"):
            patches.set(torch.autograd, name, self._around(getattr(torch.autograd, name), name, before, after))

    def _around(
        self, original: Callable[..., Any], how: str, before: Callable[..., Any], after: Callable[..., None]
    ) -> Callable[..., Any]:
        inside, settled, count = self._inside, self.settled, self.count

        def differentiate(*args: Any, **kwargs: Any) -> Any:
            if count.passing > 0:  # Written out here: all memory of ours that this touches is cold.
                loss, sound = args[0] if args else None, True
                if type(loss) is Tensor and loss.is_cpu and not loss.shape:
                    try:
                        sound = (value := loss.item()) - value == 0.0
                    except (RuntimeError, TypeError):
                        sound = True  # A stand-in without values.
                if sound:
                    count.passing -= 1
                    try:
                        return original(*args, **kwargs)
                    except Exception as error:
                        self._finish(after, sys._getframe(1), error, None)
                        raise
            frame = sys._getframe(1)
            if frame.f_code is _TENSOR_BACKWARD and frame.f_back is not None:
                frame = frame.f_back
            if inside.flag:
                return original(*args, **kwargs)
            count.called()
            if count.quiet and not finite(args):
                self._fail(args[0], frame)
            token, turn = None, False
            if (id(frame.f_code), frame.f_lasti) not in settled:
                turn = self._take_turn()
                inside.flag = True
                roots = args[0] if args else kwargs.get("outputs", kwargs.get("tensors"))
                token = self._begin(before, frame, roots, how)
            try:
                try:
                    result = original(*args, **kwargs)
                except Exception as error:
                    inside.flag = False
                    self._finish(after, token or frame, error, None)
                    raise
                if token is not None or inside.flag:
                    inside.flag = False
                    if token is not None:
                        self._finish(after, token, None, result)
            finally:
                if turn:
                    self._turn.release()
            if count.measured and how == "backward":
                self._measure(args[0] if args else kwargs.get("tensors"), frame)
            return result

        return differentiate

    def _begin(self, before: Callable[..., Any], frame: FrameType, roots: Any, how: str) -> Any:
        several = roots if isinstance(roots, (list, tuple)) else [roots]  # An iterator is not ours to use up.
        tensors = [t for t in several if isinstance(t, Tensor)]
        with torch._C.DisableTorchFunction():
            return self.guard(lambda: before(frame, tensors, how), "backward")

    def _fail(self, loss: Tensor, frame: FrameType) -> None:
        with torch._C.DisableTorchFunction():
            self.guard(lambda: self.failed(loss, frame), "backward")

    def _measure(self, roots: Any, frame: FrameType) -> None:
        with torch._C.DisableTorchFunction():
            self.guard(lambda: self.deposited(roots, frame), "backward")

    def _finish(self, after: Callable[..., None], token: Any, error: Exception | None, result: Any) -> None:
        with torch._C.DisableTorchFunction():
            self.guard(lambda: after(token, error, result), "backward")
