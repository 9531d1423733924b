"""`.whygrad/live.json`: what `whygrad top` shows of a run that is going on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whygrad import private_file, timing
from whygrad.telemetry.record import Record, finite
from whygrad.telemetry.summary import Summary

LIVE = Path(".whygrad") / "live.json"
LEAST_GAP = 0.5
POINTS = 32
"""Of each layer's series."""
VERSION = 1


class Live:
    title = ""

    def __init__(
        self, file: Path, summary: Summary, script: str = "", clock: Callable[[], float] = timing.monotonic
    ) -> None:
        self._file = file
        self._summary = summary
        self._script = script
        self._clock = clock
        self._last = -LEAST_GAP
        self._earlier: tuple[int, float] | None = None
        self._pace: float | None = None
        self._rows: dict[str, dict[str, Any]] = {}
        self._clips: dict[str, list[int]] = {}
        """By layer: samples that were clipped, and samples in which that was to be seen."""

    def write(self, record: Record) -> None:
        for layer in record.layers():
            clips = self._clips.setdefault(layer.name, [0, 0])
            if layer.was_clipped is not None:
                clips[0] += layer.was_clipped
                clips[1] += 1
            self._rows[layer.name] = {
                "layer": layer.name,
                "module": next(p.module for p in record.parameters if p.layer == layer.name),
                "raw": finite(layer.raw.norm) if layer.raw is not None else None,
                "clipped": finite(layer.clipped.norm) if layer.clipped is not None else None,
                "ratio": finite(layer.ratio),
                "clip_rate": clips[0] / clips[1] if clips[1] else None,
            }
        now = self._clock()
        if now - self._last < LEAST_GAP:
            return
        self._last = now
        if self._earlier is not None and record.seconds > self._earlier[1]:
            self._pace = (record.update - self._earlier[0]) / (record.seconds - self._earlier[1])
        self._earlier = record.update, record.seconds
        self._replace(json.dumps(self._shown(record), separators=(",", ":")))

    def _shown(self, record: Record) -> dict[str, Any]:
        norms = self._summary.norms
        for name, row in self._rows.items():
            row["series"] = [value for _, value in norms[name].shown()[-POINTS:]] if name in norms else []
        return {
            "version": VERSION,
            "pid": os.getpid(),
            "script": self._script,
            "update": record.update,
            "seconds": record.seconds,
            "updates_per_second": self._pace,
            "losses": {name: finite(value) for name, value in record.losses.items()},
            "layers": list(self._rows.values()),
        }

    def _replace(self, text: str) -> None:
        """All or nothing: a reader never sees half a file."""
        private_file.folder(self._file.parent)
        private_file.replace(self._file, text)

    def close(self) -> None:
        self._file.unlink(missing_ok=True)
