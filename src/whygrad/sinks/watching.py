"""The other side of `live.py`: reading what a run that is going on says."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whygrad.sinks.live import VERSION


@dataclass(frozen=True, slots=True)
class Row:
    """One layer."""

    layer: str
    module: str
    raw: float | None
    clipped: float | None
    ratio: float | None
    clip_rate: float | None
    series: list[float]


@dataclass(frozen=True, slots=True)
class Watched:
    """A run at one moment."""

    pid: int
    script: str
    update: int
    seconds: float
    pace: float | None
    losses: dict[str, float]
    rows: list[Row] = field(default_factory=list)


def read(file: Path) -> Watched | None:
    """None where no run writes, or what stands there cannot be understood."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            return None
        return Watched(
            int(data["pid"]),
            str(data["script"]),
            int(data["update"]),
            float(data["seconds"]),
            data["updates_per_second"],
            dict(data["losses"]),
            [_row(row) for row in data["layers"]],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _row(data: dict[str, Any]) -> Row:
    series = [float(value) for value in data["series"]]
    return Row(data["layer"], data["module"], data["raw"], data["clipped"], data["ratio"], data["clip_rate"], series)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # Somebody else's.
        return True
    return True
