"""One watched run: capture, rules and report behind one object."""

from __future__ import annotations

import functools
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from whygrad import config as configuration
from whygrad import engine
from whygrad.about import __version__
from whygrad.report.build import build
from whygrad.report.model import Report
from whygrad.report.places import renamed
from whygrad.sinks.opening import Destinations
from whygrad.sinks.sink import Outlets
from whygrad.source import cells
from whygrad.telemetry.summary import Summary
from whygrad.trace import Trace

if TYPE_CHECKING:
    from whygrad.capture.torch import Capture
    from whygrad.telemetry.record import Record

P = ParamSpec("P")
T = TypeVar("T")


class TorchMissingError(ImportError):
    """There is nothing to watch without torch."""


class Session:
    """Watches between `start` and `stop`; also a context manager and a decorator."""

    def __init__(self, config: configuration.Config | None = None, destinations: Destinations | None = None) -> None:
        self.config = config or configuration.Config()
        self.destinations = destinations or asked(self.config)
        self.capture: Capture | None = None
        self._summary = Summary()
        self._outlets = Outlets([])
        self._report: Report | None = None
        self._begun: float | None = None

    def start(self) -> Session:
        """Begin to watch this process. Child processes are left alone."""
        try:
            from whygrad.capture.torch import Capture, Options
        except ModuleNotFoundError as error:
            raise TorchMissingError(f"whygrad needs torch in this environment ({error})") from error
        if self.capture is not None:
            raise RuntimeError("this watch has been started already; make a new one with whygrad.watch()")
        global _active
        if _active is not None:
            raise RuntimeError("whygrad is already watching; stop it first")
        self.destinations.check()
        _active = self
        self._outlets = self.destinations.open(self._summary)
        share = self.config.budget / 100.0
        options = Options(self.config.updates, self.config.trace, share, self._sampled, self._clock)
        self.capture = capture = Capture(options)
        if self.destinations.page is not None:
            self.destinations.page.follow(self._summary, lambda: capture.traced_updates, self._so_far)
        self.capture.start()
        self._begun = time.perf_counter()
        return self

    def _clock(self) -> float:
        """Stands still while the live page is served: that has an allowance of its own."""
        page = self.destinations.page
        return time.perf_counter() - (page.paused if page is not None else 0.0)

    def _so_far(self) -> Report:
        """What can be said before the end."""
        assert self.capture is not None
        trace = self.capture.snapshot()
        report = self._described(build(trace, engine.diagnose(trace, self.config)))
        report.verdict = _verdict(trace, watching=True)
        return report

    def _sampled(self, record: Record) -> None:
        self._summary.add(record)
        self._outlets.write(record)

    def stop(self, escaped: BaseException | None = None) -> Report:
        """End the watching and say what was found."""
        global _active
        if self._report is None:
            if _active is self:
                _active = None
            self._report = self._finish(escaped)
        return self._report

    def _finish(self, escaped: BaseException | None) -> Report:
        trace = self.capture.stop(escaped) if self.capture is not None else Trace()
        try:
            report = build(trace, engine.diagnose(trace, self.config))
        except Exception as error:  # A report that cannot be made must not take the script's result along.
            report = Report(limits=[*trace.limits, f"the report could not be made ({type(error).__name__}: {error})"])
        self._described(report)
        report.verdict = _verdict(trace, self.capture is not None)
        report.telemetry = self._telemetry()
        return report

    def _described(self, report: Report) -> Report:
        """With what ran, and for how long."""
        renamed(report, cells.title)
        report.whygrad = __version__
        torch = sys.modules.get("torch")
        report.framework = f"torch {torch.__version__}" if torch is not None else ""
        report.python = platform.python_version()
        report.seconds = time.perf_counter() - self._begun if self._begun is not None else 0.0
        return report

    def _telemetry(self) -> Summary | None:
        self._outlets.close()
        if self.capture is not None:
            budget = self.capture.sampling.budget
            self._summary.cost, self._summary.seconds = budget.spent, budget.elapsed
        return self._summary if self._summary.samples else None

    @property
    def report(self) -> Report:
        """The report; asking for it ends the watching."""
        return self.stop()

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        report = self.stop(error)
        annotate(error, report)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """As a decorator: each call is watched on its own; the last report is kept on the function."""

        @functools.wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            session = Session(self.config)
            try:
                with session:
                    return function(*args, **kwargs)
            finally:
                watched.report = session.report  # type: ignore[attr-defined]

        return watched


def asked(config: configuration.Config) -> Destinations:
    """Where telemetry is to go, as paths that hold when the script changes its folder."""
    here = Path.cwd()
    tensorboard = here / config.tensorboard if config.tensorboard else None
    return Destinations(tensorboard, config.wandb, here / config.log if config.log else None)


_active: Session | None = None


def _forked() -> None:
    """A child process is not watched, and may watch itself."""
    global _active
    if _active is not None and _active.capture is not None:
        _active.capture.detach()
    _active = None


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
            error.add_note(f"whygrad[{finding.code}] {place}: {finding.message}. Fix: {finding.fix}")
            return


def _verdict(trace: Trace, watching: bool) -> str:
    if not watching:
        return "the script never imported torch; there was nothing to watch."
    if not trace.backward_calls and not trace.updates:
        return "no backward() and no optimizer step was seen; there is no training to explain."
    if not trace.updates and trace.raised is None:
        calls = trace.backward_calls
        return f"nothing missing in {calls} backward call{'s' if calls > 1 else ''}; no optimizer step was seen."
    return ""


def watch(**options: Any) -> Session:
    """Watch a block, a function or everything until `stop()`. Options: updates=5, trace="auto", ignore=(),
    budget=2.0 (percent), tensorboard="DIR", wandb=True, log="FILE"."""
    return Session(configuration.parse({k.replace("_", "-"): _listed(v) for k, v in options.items()}, "watch()"))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value
