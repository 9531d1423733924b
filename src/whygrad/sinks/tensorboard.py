"""`--tensorboard DIR`: scalars and histograms, into the script's own SummaryWriter where it has one."""

from __future__ import annotations

import functools
import sys
import weakref
from pathlib import Path
from typing import Any

from whygrad.sinks.scalars import Scalars
from whygrad.telemetry.record import Gradient, Record, finite

PATIENCE = 32
"""Records kept back while the script has a writer that has not said at which step it is."""


class TensorBoard:
    def __init__(self, folder: Path) -> None:
        SummaryWriter = _writer()
        self.title = f"--tensorboard {folder}"
        self._folder = folder
        self._class: Any = SummaryWriter
        self._own: Any = None
        self._scripts: weakref.ref[Any] | None = None
        """The writer that the script made or used last."""
        self._step: int | None = None
        self._waiting: list[Record] = []
        self._scalars = Scalars()
        self._originals = SummaryWriter.__init__, SummaryWriter.add_scalar
        self._listen(*self._originals)

    def write(self, record: Record) -> None:
        self._waiting.append(record)
        if self._scripts is None or self._step is not None or len(self._waiting) > PATIENCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._class.__init__, self._class.add_scalar = self._originals
        if self._own is not None:
            self._own.close()
        scripts = self._scripts() if self._scripts is not None else None
        if scripts is not None:
            scripts.flush()

    def _listen(self, make: Any, scalar: Any) -> None:
        """See which writer the script has, and at which step it is."""

        @functools.wraps(make)
        def made(writer: Any, *args: Any, **kwargs: Any) -> None:
            make(writer, *args, **kwargs)
            self._scripts, self._step = weakref.ref(writer), None

        @functools.wraps(scalar)
        def add_scalar(writer: Any, tag: Any, value: Any, global_step: Any = None, *rest: Any, **more: Any) -> Any:
            if writer is not self._own:
                if self._scripts is None or self._scripts() is not writer:
                    self._scripts = weakref.ref(writer)
                if isinstance(global_step, int):
                    self._step = global_step
            return scalar(writer, tag, value, global_step, *rest, **more)

        self._class.__init__, self._class.add_scalar = made, add_scalar

    def _flush(self) -> None:
        records, self._waiting = self._waiting, []
        scripts = self._scripts() if self._scripts is not None else None
        for record in records:
            step = self._step if scripts is not None and self._step is not None else record.update
            self._record(scripts or self._mine(), record, step)

    def _mine(self) -> Any:
        if self._own is None:
            make, _ = self._originals
            self._own = self._class.__new__(self._class)
            make(self._own, str(self._folder))
        return self._own

    def _record(self, writer: Any, record: Record, step: int) -> None:
        _, add_scalar = self._originals
        for tag, value in self._scalars.of(record).items():
            add_scalar(writer, tag, value, step)
        for parameter in record.parameters:
            for kind, gradient in (("raw", parameter.raw), ("clipped", parameter.clipped)):
                if gradient is not None and gradient.histogram.total:
                    _histogram(writer, f"{kind}/{parameter.name}", gradient, step)


def _writer() -> Any:
    """torch's writer where the script has torch: it may be the script's own. Else one that needs no framework."""
    if "torch" in sys.modules:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter
    from whygrad.sinks.events import EventWriter

    return EventWriter


def _histogram(writer: Any, tag: str, gradient: Gradient, step: int) -> None:
    buckets = list(gradient.histogram.buckets())
    writer.add_histogram_raw(
        tag,
        buckets[0][0],
        buckets[-1][1],
        gradient.histogram.total,
        sum((low + high) / 2 * count for low, high, count in buckets),
        gradient.norm**2 if finite(gradient.norm) is not None else 0.0,
        [high for _, high, _ in buckets],
        [count for _, _, count in buckets],
        step,
    )
