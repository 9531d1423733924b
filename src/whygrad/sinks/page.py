"""`--live`: the page of a run that is going on."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable

from whygrad import timing
from whygrad.report.html.page import PARTS, assembled, part
from whygrad.report.model import Report
from whygrad.report.places import relative
from whygrad.rule import rules
from whygrad.sinks.allowance import Allowance
from whygrad.sinks.server import Server
from whygrad.sinks.sink import SinkError
from whygrad.telemetry.record import Record
from whygrad.telemetry.summary import Summary
from whygrad.trace.gap import Gap

LEAST_GAP = 1.0
"""Seconds between two versions."""
PART = 0.5
"""Of the budget: the rest is for the telemetry that the page shows."""
GUESSED = 0.2
"""Seconds that the first explanation is taken to need."""
GROWING = ("head", "flow", "parameters")
"""Parts that telemetry changes; the others only with an explanation."""
LINGER = 2.0
BEGUN = Gap("the run has begun", "causes and the matrix come when the first updates have been traced")


class LivePage:
    """A sink: records arrive in the training's thread, pages are made in the server's."""

    title = "--live"

    def __init__(self, script: str, share: float, base: str = "") -> None:
        self._base = base
        self.allowance = Allowance(share * PART)
        self.server = Server(self, self.allowance)
        self._lock = threading.Lock()
        self._report = Report(script=script, gaps=[BEGUN])
        self._summary: Summary | None = None
        self._explained: Callable[[], Report] = lambda: self._report
        self._traces: Callable[[], int] = lambda: 0
        self._traced = 0
        self._cost = GUESSED
        self._changed = True
        self._known: Report | None = None
        """The report that all parts were made of."""
        self._parts: dict[str, tuple[int, str]] = {}
        self._version = 0
        self._rendered = 0.0
        self.over = False
        self.paused = 0.0
        """Seconds of the training's own thread that went into explanations."""

    def start(self) -> str:
        """The address; whoever has it may look."""
        rules()  # They are needed at the end in any case, and their import is not to be paid by the first viewer.
        try:
            self.server.start()
        except OSError as error:
            raise SinkError(f"--live: no port on this machine can be had ({error.strerror})") from error
        return self.server.address

    def follow(self, summary: Summary, traced: Callable[[], int], explained: Callable[[], Report]) -> None:
        """What to show: telemetry as it grows, and an explanation whenever more has been traced."""
        self._summary, self._traces, self._explained = summary, traced, explained

    def write(self, record: Record) -> None:
        """In the training's thread: as little as possible."""
        self._report.updates = max(self._report.updates, record.update)
        self._report.seconds = record.seconds
        self._changed = True
        fresh = self.server.watched and self._traces() > self._traced
        if fresh and self.allowance.affords(self._cost, ahead=not self._traced):
            self._explain()

    def _explain(self) -> None:
        began = timing.perf_counter()
        self._traced = self._traces()
        fresh = self._explained()
        fresh.script = self._report.script
        relative(fresh, self._base)
        self._report = fresh
        self._cost = timing.perf_counter() - began
        self.paused += self._cost
        self.allowance.spend(self._cost)

    def close(self) -> None:
        """The watching has ended; the report is still to come."""

    def finish(self, report: Report) -> None:
        """The last word, to whoever is still there."""
        with self._lock:
            self._report, self._changed, self.over = report, True, True
            self._rendered = 0.0
        self.server.finish(LINGER)

    # -- in the server's thread

    def page(self) -> str:
        self._render()
        made = {name: markup for name, (_, markup) in self._parts.items()}
        return assembled(made, self._report.script, live=f"events?since={self._version}")

    def changes(self, since: int) -> tuple[int, str]:
        self._render()
        fresh = {name: markup for name, (version, markup) in self._parts.items() if version > since}
        told = f"event: parts\ndata: {json.dumps(fresh)}\n\n" if fresh else ""
        if self.over and since <= self._version:
            return self._version + 1, f"{told}event: end\ndata: {{}}\n\n"
        return self._version, told

    def _render(self) -> None:
        """A new version, if there is something new and the last one is old enough."""
        if not self._changed or timing.monotonic() - self._rendered < LEAST_GAP:
            return
        with self._lock:
            self._changed = False
            self._rendered = timing.monotonic()
            try:
                made = self._made()
            except RuntimeError:  # The training's thread added a layer meanwhile: the next one will do.
                self._changed = True
                return
            changed = {name: markup for name, markup in made.items() if self._parts.get(name, (0, ""))[1] != markup}
            if changed:
                self._version += 1
                self._parts |= {name: (self._version, markup) for name, markup in changed.items()}

    def _made(self) -> dict[str, str]:
        report = self._report
        growing = report if self.over else dataclasses.replace(report, telemetry=self._summary)
        names = GROWING if report is self._known else PARTS
        made = {name: part(growing if name in GROWING else report, name, running=not self.over) for name in names}
        self._known = report
        return {name: str(markup) for name, markup in made.items()}
