"""Python's garbage collector rests while whygrad makes many objects at once.

Each generation of objects that outlives two collections brings a look at everything the process holds nearer, and
beside torch that is 0.1 to 0.2 seconds of the script's time (measured on CPython 3.11, 290,000 objects).
"""

from __future__ import annotations

import gc
from types import TracebackType


class Rest:
    """`with Rest():` leaves a collector that the script has switched off as it is."""

    _ours = False
    """We have switched it off. On the class: should an interruption keep one end from coming, the next makes up for
    it."""

    def __enter__(self) -> None:
        if gc.isenabled():
            Rest._ours = True
            gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if Rest._ours:
            gc.enable()
            Rest._ours = False
