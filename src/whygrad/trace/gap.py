"""Something that was not looked at."""

from __future__ import annotations

from dataclasses import dataclass

ATTACH = "please report it, with the traceback that `whygrad report --format json` shows under `missing`"


@dataclass(frozen=True, slots=True)
class Gap:
    """Why nobody can say that the run is healthy, and what to do about it."""

    what: str
    do: str
    detail: str = ""
    """A traceback to attach, where whygrad itself has failed."""
