"""What a descriptor leads to: a script may close all there are, and then its own file gets the number of ours."""

from __future__ import annotations

import os

Identity = tuple[int, int]


def identity(number: int) -> Identity | None:
    """The same as long as the descriptor leads to the same file or socket; None where it is closed."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
