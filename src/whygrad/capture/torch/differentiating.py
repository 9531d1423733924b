"""The two functions behind every way to ask for gradients: `autograd.backward` and `autograd.grad`."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import torch

from whygrad.capture import detours, standins
from whygrad.capture.detours import Detours, Function, hidden
from whygrad.capture.guard import Guard
from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.elsewhere import profiled
from whygrad.capture.torch.failing import finite

Tensor = torch.Tensor
Watched = Callable[[FrameType, tuple[Any, ...], dict[str, Any]], Any]
"""A way to ask for gradients that knows who asked."""
_listeners, _modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack
_item = methods.item
_TENSOR_BACKWARD = torch.Tensor.backward.__code__
_BACKWARD = ("tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs")


WAYS = ("backward", "grad")
"""Functions of `torch.autograd`; `Tensor.backward` comes there as well."""
PASSED = 13
"""While nothing is traced, one call in so many is asked where it stands: a new call site shows soon enough. A prime, so
that of losses that alternate each gets its turn."""
LATER_PASSED, LATER = 61, 1000
"""From this call on fewer are asked: it takes 15 µs in cold memory, 0.2 % of a small DQN's time at 13 (torch 2.13)."""
LONGEST_WAIT = 20.0
"""Seconds for which a thread waits for another one's traced backward. On a busy machine the first one of a run takes
more than a second; that threads wait for each other inside their backwards is possible, and never seen."""


class Count:
    """Backward calls of all threads, and how many of the next ones may simply pass."""

    __slots__ = ("_counted", "_measured", "_quiet", "host", "passing")

    def __init__(self) -> None:
        self.passing = 0
        """Calls up to the next one that is asked where it stands; they are counted ahead."""
        self.host = False
        """Nothing lives on a device: losses may be read without a question, which alone is 0.4 % of a small update."""
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
            self.another_round()

    def another_round(self) -> None:
        calls = PASSED if self._counted < LATER else LATER_PASSED
        self._counted += calls
        self.passing += calls


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

    def interrupted(self) -> None:
        self._inside.flag = False

    def attach(self, always: Detours, before: Callable[..., Any], after: Callable[..., None]) -> None:
        for name in WAYS:
            always.set(torch.autograd, name, partial(self._watching, how=name, before=before, after=after))

    def _watching(
        self, original: Function, how: str, before: Callable[..., Any], after: Callable[..., None]
    ) -> Function:
        watched = self._watched(original, self._attended(original, how, before, after), after)
        hurries = tuple(inspect.signature(original).parameters) == _BACKWARD
        # A hook of the script's may warn from inside, and is to name the same line as ever.
        return hidden(self._hurried(hidden(original), watched, after)) if hurries else _called(watched)

    def _hurried(self, original: Function, watched: Watched, after: Callable[..., None]) -> Function:
        """The way past between two looks: as little as can be, since all memory of ours that it touches is cold.

        On a small DQN (torch 2.13) reading the loss takes 0.6 % of an update and the rest 0.2 %; asking where the loss
        lives would take another 0.4 %.
        """
        count = self.count

        def backward(
            tensors: Any,
            grad_tensors: Any = None,
            retain_graph: Any = None,
            create_graph: Any = False,
            grad_variables: Any = None,
            inputs: Any = None,
        ) -> Any:
            alone = not _listeners() and not _modes() and not profiled()
            if count.host and count.passing > 1 and type(tensors) is Tensor and alone:
                try:
                    value = _item(tensors)
                except (RuntimeError, TypeError):
                    value = 0.0  # Several numbers, or a stand-in without values.
                if value - value == 0.0:
                    count.passing -= 1
                    try:
                        return original(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
                    except Exception as error:
                        self._finish(after, detours.caller(), error, None)
                        raise
            given = (tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            return watched(detours.caller(), given, {})

        return backward

    def _watched(self, original: Function, attended: Watched, after: Callable[..., None]) -> Watched:
        def differentiate(caller: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            frame = _asking(caller)
            if not self._passes(frame, args):
                return attended(caller, args, kwargs)
            try:
                return standins.call(original, args, kwargs, caller)
            except Exception as error:
                self._finish(after, frame, error, None)
                raise

        return differentiate

    def _passes(self, frame: FrameType, args: tuple[Any, ...]) -> bool:
        """Whether nobody needs to look at this call: nothing is traced, the loss is finite, and the place is known."""
        count = self.count
        if count.passing <= 0 or not finite(args):
            return False
        if count.passing == 1:
            if (id(frame.f_code), frame.f_lasti) not in self.settled:
                return False
            loss = args[0] if args else None
            count.host = type(loss) is Tensor and loss.is_cpu and not functions.initialized()
            count.another_round()
        count.passing -= 1
        return True

    def _attended(
        self, original: Function, how: str, before: Callable[..., Any], after: Callable[..., None]
    ) -> Watched:
        inside, settled, count = self._inside, self.settled, self.count

        def differentiate(caller: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if inside.flag:
                return standins.call(original, args, kwargs, caller)
            frame = _asking(caller)
            count.called()
            if count.quiet and not finite(args):
                self._fail(args[0], frame)
            token, turn = None, False
            try:
                if (id(frame.f_code), frame.f_lasti) not in settled:
                    turn = self._take_turn()
                    inside.flag = True
                    roots = args[0] if args else kwargs.get("outputs", kwargs.get("tensors"))
                    token = self._begin(before, frame, roots, how)
                try:
                    result = standins.call(original, args, kwargs, caller)
                except Exception as error:
                    inside.flag = False
                    self._finish(after, token or frame, error, None)
                    raise
                if token is not None or inside.flag:
                    inside.flag = False
                    if token is not None:
                        self._finish(after, token, None, result)
            finally:
                if inside.flag:  # Ctrl-C, mostly.
                    self.guard.on_interrupted()
                if turn:
                    self._turn.release()
            if count.measured and how == "backward":
                self._measure(args[0] if args else kwargs.get("tensors"), frame)
            return result

        return differentiate

    def _begin(self, before: Callable[..., Any], frame: FrameType, roots: Any, how: str) -> Any:
        several = roots if isinstance(roots, (list, tuple)) else [roots]  # An iterator is not ours to use up.
        tensors = [t for t in several if isinstance(t, Tensor)]
        return self.guard(lambda: before(frame, tensors, how), "backward")

    def _fail(self, loss: Tensor, frame: FrameType) -> None:
        self.guard(lambda: self.failed(loss, frame), "backward")

    def _measure(self, roots: Any, frame: FrameType) -> None:
        self.guard(lambda: self.deposited(roots, frame), "telemetry")

    def _finish(self, after: Callable[..., None], token: Any, error: Exception | None, result: Any) -> None:
        self.guard(lambda: after(token, error, result), "backward")


def notice_calls(detours_in_force: Detours, notice: Callable[[], None]) -> None:
    """Hear of every way to ask for gradients, and no more than that."""

    def noticing(original: Function) -> Function:
        def differentiate(*args: Any, **kwargs: Any) -> Any:
            notice()
            return standins.call(original, args, kwargs, detours.caller())

        return differentiate

    for name in WAYS:
        detours_in_force.set(torch.autograd, name, noticing)


def _asking(caller: FrameType) -> FrameType:
    """Who wants the gradients: `Tensor.backward` only hands the wish on."""
    return caller.f_back if caller.f_code is _TENSOR_BACKWARD and caller.f_back is not None else caller


def _called(watched: Watched) -> Function:
    def differentiate(*args: Any, **kwargs: Any) -> Any:
        return watched(detours.caller(), args, kwargs)

    return differentiate
