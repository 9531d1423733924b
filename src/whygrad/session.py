"""One watched run: capture, rules and report behind one object."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from whygrad import config as configuration
from whygrad import engine, timing, visible
from whygrad.about import __version__
from whygrad.capture import escapes
from whygrad.capture.blame import our_own
from whygrad.capture.forks import Forks
from whygrad.capture.options import Options
from whygrad.collector import Rest
from whygrad.report.build import build
from whygrad.report.model import Report
from whygrad.report.places import renamed
from whygrad.sinks.opening import Destinations
from whygrad.sinks.sink import Outlets
from whygrad.source import cells
from whygrad.telemetry.summary import Summary
from whygrad.trace import Trace
from whygrad.trace.children import Children
from whygrad.trace.deadline import Deadline, within
from whygrad.trace.gap import ATTACH, Gap

if TYPE_CHECKING:
    from whygrad.telemetry.record import Record

P = ParamSpec("P")
T = TypeVar("T")


FRAMEWORKS = {"torch": "Tensor", "tensorflow": "GradientTape"}
"""What can be watched, and the class that tells it from a module of the script's with the same name. Each is imported
by the script, never by us on its behalf."""


READ_EARLY = Gap(
    "the report was read inside the block, which ended the watching, and the training went on",
    "read it after the block",
)


class FrameworkMissingError(ImportError):
    """There is nothing to watch without torch or TensorFlow."""


class Session:
    """Watches between `start` and `stop`; also a context manager and a decorator."""

    def __init__(
        self,
        config: configuration.Config | None = None,
        destinations: Destinations | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.config = config or configuration.Config()
        self.destinations = destinations or asked(self.config)
        self.captures: dict[str, Any] = {}
        """By framework: the script may import both, and trains with one."""
        self.deadline = deadline or Deadline(self.config.deadline)
        """For the report."""
        self._forks = Forks()
        self._summary = Summary()
        self._outlets = Outlets([])
        self._report: Report | None = None
        self._begun: float | None = None
        self._gaps: list[Gap] = []
        self._inside = False
        """Of a `with` block."""
        self._afterwards: list[Callable[[], None]] = []
        """What forgets to look whether the script trains on after its report was read."""
        self._trained_after = False

    def start(self) -> Session:
        """Begin to watch this process. Child processes are left alone."""
        if self.captures:
            raise RuntimeError("this watch has been started already; make a new one with whygrad.watch()")
        if _active is not None:
            raise RuntimeError("whygrad is already watching; stop it first")
        for framework in _loaded() or ["torch"]:
            self.join(framework)
        return self

    @property
    def capture(self) -> Any:
        """The capture of the framework that came first; None before any did."""
        return next(iter(self.captures.values()), None)

    def join(self, framework: str) -> None:
        """Watch this framework from now on; the first one begins the watching."""
        if framework in sys.modules and framework not in _loaded():
            return
        try:
            package = importlib.import_module(f"whygrad.capture.{framework}")
        except ModuleNotFoundError as error:
            reason = f"there is no {framework} to watch ({error}); TensorFlow is watched once it is imported"
            raise FrameworkMissingError(reason) from error
        if not self.captures:
            self._begin()
        share = self.config.budget / 100.0
        options = Options(
            self.config.updates, self.config.trace, share, self._sampled, self.destinations.asked, self._clock
        )
        self.captures[framework] = capture = package.Capture(options)
        capture.start()

    def arrived(self, framework: str) -> None:
        """The script has imported it. What fails here is told at the end, and no affair of that import's."""
        try:
            self.join(framework)
        except Exception as error:
            if not our_own(error):
                raise
            said = f"{framework} could not be watched ({type(error).__name__}: {error})"
            self._gaps.append(Gap(said, ATTACH, "".join(traceback.format_exception(error))))

    def _begin(self) -> None:
        global _active
        self.destinations.check()
        _active = self
        self._outlets = self.destinations.open(self._summary)
        if self.destinations.page is not None:
            self.destinations.page.follow(self._summary, self._traced, self._so_far)
        self._begun = timing.perf_counter()

    def _traced(self) -> int:
        return sum(capture.traced_updates for capture in self.captures.values())

    def _clock(self) -> float:
        """Stands still while the live page is served: that has an allowance of its own."""
        page = self.destinations.page
        return timing.perf_counter() - (page.paused if page is not None else 0.0)

    def _so_far(self) -> Report:
        """What can be said before the end."""
        trace = _busiest([capture.snapshot() for capture in self.captures.values()])
        return self._described(build(trace, engine.diagnose(trace, self.config)), trace.framework)

    def _sampled(self, record: Record) -> None:
        self._summary.add(record)
        self._outlets.write(record)

    def stop(self, escaped: BaseException | None = None, status: int = 0) -> Report:
        """End the watching and say what was found; with what ended it, or the status that the script left with."""
        global _active
        if self._report is None:
            if _active is self:
                _active = None
            self._report = self._finish(escaped, status)
        return self._report

    def _finish(self, escaped: BaseException | None, status: int) -> Report:
        trace = _busiest([capture.stop(escaped) for capture in self.captures.values()])
        trace.children = self._forks.found()
        if trace.updates and trace.children.unknown:
            trace.limits.append(_not_known(trace.children))
        trace.exit_status = status
        if escaped is not None and not escapes.meant(escaped):
            trace.escaped = escapes.described(escaped)
        elif not self.captures and not self._gaps:
            trace.gaps.append(_nothing_to_watch(trace.children))
        trace.gaps += self._gaps
        report = self._explained(trace)
        self._described(report, trace.framework)
        report.telemetry = self._telemetry()
        return report

    def _explained(self, trace: Trace) -> Report:
        """What can be said within the time there is; where that fails, a report that says so."""
        try:
            with Rest(), within(self.deadline):
                findings = engine.diagnose(trace, self.config)
            return build(trace, findings)
        except Exception as error:
            if not our_own(error):
                raise
            said = f"the report could not be made ({type(error).__name__}: {error})"
            gap = Gap(said, ATTACH, "".join(traceback.format_exception(error)))
            return Report(limits=list(trace.limits), gaps=[gap, *trace.gaps])

    def _described(self, report: Report, framework: str) -> Report:
        """With what ran, and for how long."""
        renamed(report, cells.title)
        report.whygrad = __version__
        report.framework = f"{framework} {sys.modules[framework].__version__}" if framework in _loaded() else ""
        report.python = platform.python_version()
        report.seconds = timing.perf_counter() - self._begun if self._begun is not None else 0.0
        return report

    def _went_on(self) -> None:
        self._trained_after = True

    def forked_child_trains(self) -> None:
        """Called in the child."""
        self._forks.mark()

    def _telemetry(self) -> Summary | None:
        self._outlets.close()
        budgets = [capture.sampling.budget for capture in self.captures.values()]
        if budgets:
            self._summary.cost = sum(budget.spent for budget in budgets)
            self._summary.seconds = max(budget.elapsed for budget in budgets)
        return self._summary if self._summary.samples else None

    @property
    def report(self) -> Report:
        """The report; asking for it ends the watching."""
        if self._inside and self._report is None:
            self._inside = False
            report = self.stop()
            self._afterwards = [capture.at_first_update(self._went_on) for capture in self.captures.values()]
            return report
        return self.stop()

    def __enter__(self) -> Session:
        self._inside = True
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._inside = False
        for forget in self._afterwards:
            forget()
        report = self.stop(error)
        if self._trained_after:
            report.gaps.append(READ_EARLY)
        annotate(error, report)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """As a decorator: each call is watched on its own; the last report is kept on the function."""

        if inspect.isasyncgenfunction(function):
            raise TypeError(f"whygrad cannot watch {function.__qualname__}: put `with whygrad.watch()` inside it")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            return self._resumed(function)

        @functools.wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            with self._kept(watched):
                return function(*args, **kwargs)

        return watched

    def _resumed(self, function: Callable[P, Any]) -> Callable[P, Any]:
        """A function that runs when its result is awaited or gone through, and is watched then."""

        @functools.wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            with self._kept(awaited):
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def gone_through(*args: P.args, **kwargs: P.kwargs) -> Any:
            with self._kept(gone_through):
                return (yield from function(*args, **kwargs))

        return awaited if inspect.iscoroutinefunction(function) else gone_through

    @contextlib.contextmanager
    def _kept(self, function: Any) -> Iterator[None]:
        """One call of a decorated function."""
        session = Session(self.config)
        try:
            with session:
                yield
        finally:
            function.report = session.report


def asked(config: configuration.Config) -> Destinations:
    """Where telemetry is to go, as paths that hold when the script changes its folder."""
    here = Path.cwd()
    tensorboard = here / config.tensorboard if config.tensorboard else None
    return Destinations(tensorboard, config.wandb, here / config.log if config.log else None)


_active: Session | None = None


def _forked() -> None:
    """A child process is not watched, and may watch itself."""
    global _active
    parent, _active = _active, None
    for capture in parent.captures.values() if parent is not None else ():
        capture.guard.forked()
        capture.detach()
        if parent is not None:
            capture.at_first_update(parent.forked_child_trains)


os.register_at_fork(after_in_child=_forked)


def active() -> Session | None:
    return _active


def annotate(error: BaseException | None, report: Report) -> None:
    """Add the explanation to PyTorch's own exception, which otherwise stays as it is."""
    if error is None:
        return
    for finding in report.loud:
        if "raised" in finding.evidence and finding.site is not None:
            place = f"{os.path.basename(finding.site.file)}:{finding.site.line}"
            note = f"whygrad[{finding.code}] {place}: {finding.message}. Fix: {finding.fix}"
            error.add_note(visible.line(note))
            return


def _busiest(traces: list[Trace]) -> Trace:
    """The trace of the framework that trains; the other one was only imported."""
    return max(traces, key=lambda trace: (trace.updates, trace.backward_calls), default=Trace())


def _not_known(children: Children) -> str:
    return (
        f"child processes took {children.seconds:.1f} s of processor time; no forked one trained, and what others do "
        "is not seen"
    )


def _loaded() -> list[str]:
    return [name for name, kind in FRAMEWORKS.items() if isinstance(getattr(sys.modules.get(name), kind, None), type)]


def _nothing_to_watch(children: Children) -> Gap:
    for framework in _loaded():
        return Gap(f"{framework} was imported in a way that went past whygrad", "import it by an ordinary statement")
    for framework in [name for name in FRAMEWORKS if name in sys.modules]:
        file = getattr(sys.modules[framework], "__file__", None) or "made by the script"
        return Gap(f"the module {framework} that the script imports is another one ({file})", "give it another name")
    if children.busy:
        return Gap(
            "the script itself imported neither torch nor tensorflow, and the processes that it started are not "
            f"watched (they took {children.seconds:.1f} s of processor time)",
            "start the script that trains by `whygrad run`, without the launcher",
        )
    return Gap("the script imported neither torch nor tensorflow", "there was nothing to watch")


def watch(**options: Any) -> Session:
    """Watch a block, a function or everything until `stop()`. Options: updates=5, trace="auto", ignore=(),
    budget=2.0 (percent), tensorboard="DIR", wandb=True, log="FILE"."""
    return Session(configuration.parse({k.replace("_", "-"): _listed(v) for k, v in options.items()}, "watch()"))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value
