"""The other side of `live.py`: reading what a run that is going on says."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from whygrad import document
from whygrad.fields import FieldError, Fields, items, maybe, number, table, text, whole
from whygrad.sinks.live import VERSION

MOST_BYTES = 16_000_000
LARGEST = 1e300
"""Of a norm: those of all layers together must be a number still."""


class WatchedError(Exception):
    """What stands where a run writes cannot be understood; the message says why."""


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
    losses: dict[str, float | None]
    rows: list[Row] = field(default_factory=list)


def read(file: Path) -> Watched | None:
    """None where no run writes. Raises WatchedError for what no run of this version has written."""
    try:
        return _watched(document.read(file, MOST_BYTES))
    except FileNotFoundError:
        return None
    except document.DocumentError as error:
        raise WatchedError(f"{file} cannot be read ({error})") from error
    except FieldError as error:
        raise WatchedError(f"{file} is damaged, or of another version of whygrad: {error}") from error


_norm = maybe(number(0.0, LARGEST))
_share = maybe(number(0.0, 1.0))


def _watched(value: object) -> Watched:
    read = Fields(value)
    read("version", whole(VERSION, VERSION))
    return Watched(
        read("pid", whole(1, 2**31 - 1)),
        read("script", text),
        read("update", whole()),
        read("seconds", number(0.0, 1e12)),
        read("updates_per_second", maybe(number(0.0, 1e12))),
        read("losses", table(maybe(number()))),
        read("layers", items(_row)),
    )


def _row(value: object) -> Row:
    read = Fields(value)
    return Row(
        read("layer", text),
        read("module", text),
        read("raw", _norm),
        read("clipped", _norm),
        read("ratio", maybe(number())),
        read("clip_rate", _share),
        read("series", items(number(0.0, LARGEST))),
    )


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # Somebody else's.
        return True
    return True
