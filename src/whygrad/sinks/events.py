"""An event file for TensorBoard, written without torch and without TensorFlow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


class EventWriter:
    """The part of torch's SummaryWriter that telemetry uses."""

    def __init__(self, folder: str) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        Path(folder).mkdir(parents=True, exist_ok=True)
        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        self._histogram: Any = summary_pb2.HistogramProto
        self._file = EventFileWriter(folder)

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self._write(self._summary.Value(tag=tag, simple_value=value), step)

    def add_histogram_raw(
        self,
        tag: str,
        low: float,
        high: float,
        count: float,
        total: float,
        squares: float,
        limits: list[float],
        counts: list[int],
        step: int,
    ) -> None:
        found = self._histogram(
            min=low, max=high, num=count, sum=total, sum_squares=squares, bucket_limit=limits, bucket=counts
        )
        self._write(self._summary.Value(tag=tag, histo=found), step)

    def _write(self, value: Any, step: int) -> None:
        summary = self._summary(value=[value])
        self._file.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()
