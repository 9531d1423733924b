"""What a destination of telemetry can do, and what happens when it no longer can."""

from __future__ import annotations

import contextlib
import sys
from typing import Protocol

from whygrad import visible
from whygrad.capture.blame import LIBRARIES, our_own, package
from whygrad.telemetry.record import Record


class SinkError(Exception):
    """A destination cannot be used; the message says why and what to do."""


def say(message: str) -> None:
    """One line on stderr, if the script has left one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            print(visible.line(f"whygrad: {message}"), file=sys.stderr, flush=True)


class Sink(Protocol):
    @property
    def title(self) -> str:
        """The option that asked for it; empty for one that nobody asked for and nobody misses."""

    def write(self, record: Record) -> None: ...

    def close(self) -> None: ...


class Outlets:
    """Several destinations: one that fails is said once and left out, and the run goes on."""

    def __init__(self, sinks: list[Sink]) -> None:
        self._sinks = sinks

    def write(self, record: Record) -> None:
        for sink in list(self._sinks):
            try:
                sink.write(record)
            except Exception as error:  # Full disks, closed writers, lost connections: none is the script's.
                if not our_own(error, {LIBRARIES, package(type(sink))}):
                    raise
                self._drop(sink, error)

    def close(self) -> None:
        while self._sinks:
            sink = self._sinks[0]
            try:
                sink.close()
            except Exception as error:
                if not our_own(error, {LIBRARIES, package(type(sink))}):
                    raise
                self._drop(sink, error)
            else:
                self._sinks.remove(sink)

    def _drop(self, sink: Sink, error: Exception) -> None:
        self._sinks.remove(sink)
        if sink.title:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
            say(f"{sink.title}: no longer written ({reason}); the run goes on")
