"""The capture of one run: switches everything on and off, and hands over the trace."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from whygrad.capture import standins
from whygrad.capture.budget import Budget
from whygrad.capture.clock import Clock
from whygrad.capture.detours import Detours
from whygrad.capture.guard import Guard
from whygrad.capture.options import Options
from whygrad.capture.torch import raising, swapping, threads, transforms, unnoticed
from whygrad.capture.torch.assembly import assemble
from whygrad.capture.torch.backwards import Backwards
from whygrad.capture.torch.compiled import Compiled
from whygrad.capture.torch.differentiating import Count, Differentiating, notice_calls
from whygrad.capture.torch.entrances import Entrances
from whygrad.capture.torch.extraction import Extraction
from whygrad.capture.torch.failing import Failing
from whygrad.capture.torch.forms import Forms
from whygrad.capture.torch.gradients import Gradients
from whygrad.capture.torch.keeping import Keeping
from whygrad.capture.torch.mode import ShadowMode
from whygrad.capture.torch.naming import Naming
from whygrad.capture.torch.parameters import Parameters
from whygrad.capture.torch.protocol import Protocol
from whygrad.capture.torch.recording import Recorder
from whygrad.capture.torch.regions import Regions
from whygrad.capture.torch.sampling import Sampling
from whygrad.capture.torch.shadow import Shadow
from whygrad.capture.torch.showing import Shown
from whygrad.capture.torch.slumber import Slumber
from whygrad.capture.torch.stepping import Stepping
from whygrad.capture.torch.switching import Switching
from whygrad.capture.torch.touching import Touching
from whygrad.capture.torch.unheard import UnheardGuard
from whygrad.capture.torch.weights import Weights
from whygrad.capture.torch.window import Window
from whygrad.trace import Graph, Trace


class Capture:
    """Watches the current process between `start` and `stop`."""

    def __init__(self, options: Options = Options()) -> None:
        self.guard: Guard = UnheardGuard()
        self.guard.on_break = self.detach
        self.guard.on_interrupted = self.interrupted
        self.window = Window(options.updates, options.trace)
        self.shadow = Shadow()
        self.parameters = Parameters()
        self.regions = Regions(self.guard)
        self.recorder = Recorder(self.shadow, self.regions, self.parameters, self.guard)
        self.failing = Failing(self)
        self.backwards, self.stepping, self.touching = Backwards(self), Stepping(self), Touching(self)
        self.recorder.on_write = self.touching.written
        self.recorder.on_freeze = self.touching.froze
        self.recorder.on_use = self.touching.used
        self.mode = ShadowMode(self.recorder, self.guard)
        self.mode.on_error = self._op_raised
        self.clock = Clock()
        self.protocol = Protocol(self.parameters, self.guard, self.clock)
        self.gradients = Gradients(self.parameters, self.shadow, self.guard, self.clock)
        self.gradients.tracing = lambda: self.recording
        self.gradients.pause = self.mode.pause
        self.recorder.on_gradient_read = self.gradients.read
        self.recorder.on_gradient_write = self.gradients.written
        self.recorder.on_change = self.gradients.changed
        self.weights = Weights(self.parameters)
        self.switching = Switching(self.parameters, self.guard, self.clock)
        self.switching.updates = lambda: self.protocol.updates
        self.switching.on_eval = self.stepping.evaluating
        self.keeping = Keeping(self.shadow)
        self.slumber = Slumber(self)
        self.forms = Forms()
        self.mode.on_long = self.slumber.repeats
        self.recorder.on_place = self.mode.something_new
        self.count = Count()
        self.shown = Shown(self)
        self.settled: set[tuple[int, int]] = set()
        self.differentiating = Differentiating(self.guard, self.settled, self.count)
        self.protocol.on_look = self.stepping.look
        self.protocol.before_step = self.stepping.before
        self.protocol.after_step = self.stepping.after
        self.entrances = Entrances(self.recorder, self.guard, lambda: self.recording)
        self.naming = Naming(self.parameters)
        self.protocol.on_growth = self.naming.look
        self.extraction = Extraction(self.shadow, self.parameters, self.recorder.departures)
        self.errors = raising.Errors(self.shadow, self.parameters, self.protocol)
        self.sampling = Sampling(self, Budget(options.budget, options.clock), options.emit)
        self.protocol.sample, self.protocol.sampled = self.sampling.before_step, self.sampling.after_step
        self.differentiating.failed = self.failing.noticed
        self.differentiating.deposited = self.sampling.deposited
        self.sampling.scaling.on_scaled = self.gradients.scaled
        self._always, self.during = Detours(torch.compiler.is_compiling), Detours(torch.compiler.is_compiling)
        self.compiled = Compiled(self)
        self.protocol.on_construction = self.compiled.prepare
        self.tracing = False
        self.calls_at_backward = 0
        self.traced_updates = 0
        self.windows = 0
        """How often tracing has begun."""
        self.openings: list[int] = []
        """Orders of the latest events when it began again."""

    @property
    def recording(self) -> bool:
        return self.tracing and not self.mode.pause.depth

    def start(self) -> None:
        self.guard(self._attach, "attaching")

    def _attach(self) -> None:
        self.differentiating.attach(self._always, self.backwards.before, self.backwards.after)
        self.protocol.attach(self._always)
        self.entrances.attach(self._always)
        self.switching.attach(self._always)
        self.sampling.scaling.attach(self._always)
        swapping.follow(self._always, self)
        self.compiled.attach(self._always)
        if self.window.open:
            self.open()

    def stop(self, escaped: BaseException | None = None) -> Trace:
        """End the watching; of PyTorch's errors only the one that escaped counts."""
        self.guard.final(self.detach, "detaching")
        self.guard(self.sampling.finish, "telemetry")
        self.guard(lambda: self.weights.finish(self.protocol.updates, self.stepping.held()), "weights")
        trace = self.guard.final(lambda: assemble(self, escaped), "assembling") or Trace(gaps=self.guard.gaps())
        self.extraction.forget()
        return trace

    def snapshot(self) -> Trace:
        """What has been seen so far. Its graph is its own: answers about one that still grows must not be kept."""
        with self.mode.pause:
            trace = assemble(self, None)
            trace.cut_short = True
            return dataclasses.replace(trace, graph=Graph(dict(trace.graph.ops)))

    def interrupted(self) -> None:
        """An exception of the script's went through us, or through what we watch, and the script may go on.

        What was under way never ended, so nobody knows what the gradients hold: as after a time without tracing.
        """
        self.differentiating.interrupted()
        self.stepping.interrupted()
        self.mode.pause.depth = 0
        if self.tracing:
            self._resume()

    def detach(self) -> None:
        self.window.policy = "off"  # Whoever kept one of our wrappers does not start us again.
        self.count.measured = False
        with ExitStack() as whatever_fails:
            whatever_fails.callback(self.protocol.unhook)
            whatever_fails.callback(self.entrances.detach)
            whatever_fails.callback(self.slumber.end)
            whatever_fails.callback(self._always.undo)
            whatever_fails.callback(self.during.undo)
            whatever_fails.callback(threads.remove, self.mode)  # Another thread may have closed the window.
            self._close()
        standins.forget()

    def at_first_update(self, trains: Callable[[], None]) -> Callable[[], None]:
        """Where nobody watches (any more): call this once, when a loss is differentiated or an optimizer steps.

        What is returned takes it back.
        """
        known, calls = False, Detours(torch.compiler.is_compiling)

        def seen(*_: Any) -> None:
            nonlocal known
            if not known:  # The hook stays: torch is walking through its hooks while it calls this one.
                known = True
                calls.undo()
                self.guard.final(trains, "children")

        hook = register_optimizer_step_post_hook(seen)
        notice_calls(calls, seen)

        def forget() -> None:
            hook.remove()
            calls.undo()

        return forget

    def open(self) -> None:
        if self.tracing:
            return
        self.tracing = self.window.open = True
        self.mode.whole = {threading.get_ident()}
        self.mode.followed |= self.mode.whole
        self.windows += 1
        self._resume()
        self.regions.follow(self.during)
        self.entrances.follow(self.during)
        transforms.follow(self.during, self.recorder, self.guard, lambda: self.recording)
        threads.follow(self.during, self.mode, self.guard)
        unnoticed.follow(self.during)
        self.compiled.follow(self.during)
        self.gradients.follow(self.during)
        self.sampling.scaling.follow(self.during)
        self.mode.live = True
        self.mode.pause.depth = 0
        self.calls_at_backward = self.mode.calls
        self.mode.something_new()
        self.backwards.forget()
        self.settled.clear()
        self.protocol.listen(True)
        self.count.quiet = False
        self.slumber.opened()
        if not self.mode.pause.aside and not self.compiled.inside():
            threads.insert(self.mode)

    def saw_it_all(self) -> bool:
        """Whether what this thread has done since its latest backward or step was seen.

        It was not where the thread began in an earlier window, or before the first one: it may have been in the middle
        of an update when another thread opened this one.
        """
        me = threading.get_ident()
        if me not in self.mode.followed:
            return False
        whole = me in self.mode.whole
        self.mode.whole.add(me)
        return whole

    def _resume(self) -> None:
        """What happened up to now is unknown, but before the first window nothing had happened."""
        if self.clock.now and self.clock.now not in self.openings[-1:]:
            self.openings.append(self.clock.now)
        self.gradients.forget()
        self.protocol.resumed = None

    def doze(self) -> None:
        """Stop tracing for a while; what is known of living tensors stays known."""
        if not self.tracing:
            return
        self.tracing = self.window.open = False
        self.protocol.listen(False)
        self.count.quiet = True
        self.during.undo()
        self.mode.followed.discard(threading.get_ident())
        threads.remove(self.mode)
        self.mode.live = False

    def _close(self) -> None:
        if self.tracing:
            opened = self.openings[-1] if self.openings else 0
            self.forms.clipped(clip for clip in self.gradients.clips if clip.order > opened)
            self.protocol.symptom |= self.forms.worth_more(self.window.first)
            self.doze()
            self.shadow.clear()
            self.slumber.closed()

    def close_if_enough(self) -> None:
        if self.window.should_close(self.mode.calls - self.calls_at_backward):
            self._close()

    def _op_raised(self, name: str, args: Any, error: Exception, frame: FrameType) -> None:
        self.guard(lambda: self.naming.look(frame), "names")
        self.errors.in_operation(name, args, error, frame, self.recorder)
