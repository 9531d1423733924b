"""Replaced attributes of a framework, and the way back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Patches:
    """Attributes replaced while watching; `undo` restores them exactly."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, replacement: Callable[..., Any]) -> None:
        """Replace `owner.name`, keeping the original's name and documentation."""
        original = vars(owner).get(name, _ABSENT)
        self._undo.append((owner, name, original))
        plain = original.__func__ if isinstance(original, (classmethod, staticmethod)) else original
        if plain is not _ABSENT:
            functools.update_wrapper(replacement, plain)
        if isinstance(original, classmethod):
            setattr(owner, name, classmethod(replacement))
        elif isinstance(original, staticmethod) or name == "__new__":
            setattr(owner, name, staticmethod(replacement))
        else:
            setattr(owner, name, replacement)

    def undo(self) -> None:
        while self._undo:
            owner, name, original = self._undo.pop()
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
