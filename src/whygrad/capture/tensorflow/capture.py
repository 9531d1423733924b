"""The capture of one TensorFlow run: switches everything on and off, and hands over the trace."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import CodeType, FrameType
from typing import Any

from whygrad.capture import detours
from whygrad.capture.arrival import Arrival, when_imported
from whygrad.capture.clock import Clock
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.options import Options
from whygrad.capture.tensorflow import private, stepping
from whygrad.capture.tensorflow.assembly import assemble
from whygrad.capture.tensorflow.clipping import Clipping
from whygrad.capture.tensorflow.errors import Errors
from whygrad.capture.tensorflow.extraction import Extraction
from whygrad.capture.tensorflow.gradients import Gradients
from whygrad.capture.tensorflow.naming import Naming
from whygrad.capture.tensorflow.places import where
from whygrad.capture.tensorflow.recording import Recorder
from whygrad.capture.tensorflow.sampling import Sampling
from whygrad.capture.tensorflow.shadow import Shadow
from whygrad.capture.tensorflow.stepping import Stepping
from whygrad.capture.tensorflow.tapes import Tapes
from whygrad.capture.tensorflow.variables import Variables
from whygrad.capture.tensorflow.window import Window
from whygrad.capture.tensorflow.writing import Writing
from whygrad.trace import Graph, Trace

OPTIMIZERS = {
    "keras.src.optimizers.base_optimizer": ("BaseOptimizer",),
    "keras.src.optimizers.optimizer": ("_BaseOptimizer", "Optimizer"),
    "keras.src.optimizers.legacy.optimizer_v2": ("OptimizerV2",),
    "tf_keras.src.optimizers.optimizer": ("_BaseOptimizer", "Optimizer"),
    "tf_keras.src.optimizers.legacy.optimizer_v2": ("OptimizerV2",),
}
"""Modules of Keras 3 and Keras 2 with the classes that step; Keras is imported when the script wants it."""


class Capture:
    """Watches the current process between `start` and `stop`."""

    def __init__(self, options: Options = Options()) -> None:
        self.guard = Guard()
        self.guard.on_break = self.detach
        self.window = Window(options.updates, options.trace)
        self.clock = Clock()
        self.shadow = Shadow()
        self.tapes = Tapes(self.guard)
        self.tapes.wanted = lambda: self.tracing
        self.variables = Variables()
        self.recorder = Recorder(self.shadow, self.tapes, self.variables, self.guard)
        self.errors = Errors()
        self.gradients = Gradients(self)
        self.stepping = Stepping(self)
        self.clipping = Clipping(self)
        self.writing = Writing(self)
        self.recorder.on_write = self.writing.written
        self.recorder.on_call = self._called
        self.naming = Naming(self.variables)
        self.extraction = Extraction(self)
        self.sampling = Sampling(self, options)
        self.tracing = False
        self._always, self._during = Detours(), Detours()
        self.compiled = 0
        """Of the functions that are being traced, those that XLA compiles."""
        self._building = 0
        """Functions that are being traced, one inside the other."""
        self._arrivals: list[Arrival] = []
        self._passed: set[tuple[CodeType, int]] = set()
        """Calls of `tape.gradient` that have come by before."""

    @property
    def traced_updates(self) -> int:
        return len(self.stepping.steps)

    def start(self) -> None:
        self.guard(self._attach, "attaching")

    def _attach(self) -> None:
        self.variables.find_existing()
        self.variables.attach(self._always, self.guard)
        self.tapes.attach(self._always)
        self.gradients.attach(self._always)
        if private.func_graph is not None:
            self._always.set(private.func_graph, "func_graph_from_py_func", self._function)
        if private.CompatOptimizer is not None:
            self._optimizers(private.CompatOptimizer)
        for module, classes in OPTIMIZERS.items():
            self._arrivals.append(when_imported(module, self._keras(module, classes)))
        if self.window.policy != "off":
            self.open()

    def _keras(self, module: str, classes: tuple[str, ...]) -> Any:
        def arrived() -> None:
            for name in classes:
                owner = getattr(sys.modules[module], name, None)
                if owner is not None:
                    self.guard(lambda: self._optimizers(owner), "attaching to Keras")

        return arrived

    def _optimizers(self, owner: Any) -> None:
        self.stepping.attach(self._always, owner, stepping.entrances(owner))

    def open(self) -> None:
        if self.tracing or private.op_callbacks is None or private.pywrap is None:
            return
        self.tracing = True
        self.recorder.departures.follow(self._during, lambda: not self.recorder.paused, self.guard)
        self.recorder.functions.follow(self._during)
        self.clipping.follow(self._during)
        self._during.set(private.pywrap, "TFE_Py_FastPathExecute", self._direct_reads)
        private.op_callbacks.add_op_callback(self.recorder.callback)

    def _direct_reads(self, original: Function) -> Function:
        """Fast eager operations read a variable without saying so; read it for them, as they would."""
        recorder = self.recorder

        def execute(context: Any, operation: Any, name: Any, *args: Any) -> Any:
            if not recorder.paused:
                args = tuple(a._dense_var_to_tensor() if isinstance(a, private.BaseVariable) else a for a in args)
            return original(context, operation, name, *args)

        return execute

    def close(self) -> None:
        if not self.tracing:
            return
        self.tracing = False
        private.op_callbacks.remove_op_callback(self.recorder.callback)
        self._during.undo()
        self.extraction.note_departures()
        self.shadow.clear()
        self.recorder.kept.clear()
        self.tapes.forget()

    def _called(self) -> None:
        if not self.tapes.active:
            self.window.called()
        self.close_if_enough()

    def close_if_enough(self) -> None:
        """Not while a function is being traced: all of it is to be seen."""
        if not self._building and self.window.enough(self.recorder.calls):
            self.close()

    def _function(self, original: Function) -> Function:
        """Tracing a function shows all that it will ever do, so it is always recorded; it happens once."""

        def func_graph_from_py_func(*args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            if not self._building:
                self.guard(self.sampling.prepare, "telemetry")
            compiled = bool(self.guard(lambda: _compiled(frame), "tracing a function"))
            self._building += 1
            self.compiled += compiled
            if self.window.policy != "off":
                self.guard(self.open, "tracing a function")
            try:
                return original(*args, **kwargs)
            finally:
                self._building -= 1
                self.compiled -= compiled

        return func_graph_from_py_func

    def passed(self, frame: FrameType) -> None:
        """A gradient was asked for while nothing is recorded: a loss that is new is worth another look."""
        here = (frame.f_code, frame.f_lasti)
        if not self.tracing and not self.recorder.paused and here not in self._passed:
            self._passed.add(here)
            place = where(frame)
            if self.window.unseen(place.user[0] if place.user else place.library):
                self.open()

    def extract(self) -> None:
        """Losses as plain data; done late, because a function's arguments are known after it was traced."""
        if self.tracing:
            self.extraction.note_departures()
        for backward in self.gradients.backwards:
            root = self.gradients.roots.pop(backward.id, None)
            if root is not None:
                self.extraction.take(root, self.gradients.opened.get(backward.id))

    def stop(self, escaped: BaseException | None = None) -> Trace:
        self.guard.final(self.detach, "detaching")
        return self.guard.final(lambda: assemble(self, escaped), "assembling") or Trace(gaps=self.guard.gaps())

    def snapshot(self) -> Trace:
        """What has been seen so far."""
        self.recorder.paused += 1
        try:
            trace = assemble(self, None)
            trace.cut_short = True
            return dataclasses.replace(trace, graph=Graph(dict(trace.graph.ops)))
        finally:
            self.recorder.paused -= 1

    def at_first_update(self, _: Callable[[], None]) -> Callable[[], None]:
        """TensorFlow's threads do not survive a fork: a child that trains with it is a fresh process."""
        return lambda: None

    def detach(self) -> None:
        self.window.policy = "off"
        with ExitStack() as whatever_fails:
            whatever_fails.callback(self._always.undo)
            whatever_fails.callback(self._during.undo)
            for arrival in self._arrivals:
                whatever_fails.callback(arrival.withdraw)
            if self.tracing:
                self.extract()
            self.close()


def _compiled(frame: FrameType) -> bool:
    """Whether the function that is traced from here is to be compiled by XLA."""
    attributes = getattr(frame.f_locals.get("tracing_options"), "attributes", None)
    return bool(attributes and attributes.get("_XlaMustCompile"))
