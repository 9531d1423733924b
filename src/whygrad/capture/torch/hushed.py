"""Our own differentiation gives the warnings of the script's a second time: nobody is to hear them twice."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import torch

T = TypeVar("T")
_always, _set_always = torch.is_warn_always_enabled, torch.set_warn_always


class _Here(threading.local):
    """As the pattern for a module's name in a filter of warnings: matches any while this thread works for us."""

    working = False

    def match(self, _: str) -> bool:
        return self.working


_here = _Here()
_FILTER: Any = ("ignore", None, Warning, _here, 0)


def hushed(work: Callable[[], T]) -> T:
    """Without its warnings; what is said only once is still to be said.

    The filter is put into the list as it is: `warnings.simplefilter` would have every warning of the script's that has
    been shown already shown again. What is ignored is not counted as shown.
    """
    filters: Any = warnings.filters
    once = not _always()
    if once:
        _set_always(True)  # Otherwise torch takes note that it has said what nobody heard.
    filters.insert(0, _FILTER)
    _here.working = True
    try:
        return work()
    finally:
        _here.working = False
        if _FILTER in filters:
            filters.remove(_FILTER)
        if once:
            _set_always(False)
