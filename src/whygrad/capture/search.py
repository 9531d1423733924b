"""Everything that the user's frames can see, walked from the outermost inwards."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import FrameType
from typing import Any

from whygrad.capture import frames

DEEPEST = 4
WIDEST = 24
"""Items of a container that are looked at: modules live near its start."""
PLAIN = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, types.FunctionType, type)


class Search(ABC):
    """Visits what variables and attributes lead to; whoever inherits knows what to look for."""

    def __init__(self) -> None:
        self._arguments: frozenset[str] = frozenset()
        """Names under which a function was handed something: they promise nothing."""
        self._level = 0
        """How far inside the scope lies that is being searched; an outer name outlives an inner one."""

    def look(self, frame: FrameType | None) -> None:
        """Search everything the user's frames can see, from the outermost inwards, then a library's."""
        stack: list[FrameType] = []
        libraries: list[FrameType] = []
        while frame is not None:
            kind = frames.kind_of(frame.f_code.co_filename)
            if kind in (frames.USER, frames.LIBRARY):
                (stack if kind == frames.USER else libraries).append(frame)
            frame = frame.f_back
        seen: dict[int, int] = {}
        outside = {id(user.f_globals): user.f_globals for user in reversed(stack)}
        scopes = [(dict(variables), frozenset[str]()) for variables in outside.values()]
        inside = (*reversed(stack), *reversed(libraries))
        scopes += [(frames.variables(inner), _arguments(inner)) for inner in inside]
        for self._level, (variables, self._arguments) in enumerate(scopes):
            for name, value in variables.items():
                if not name.startswith("__"):
                    self._safely(name, value, seen)

    def _safely(self, name: str, value: Any, seen: dict[int, int]) -> None:
        try:
            if isinstance(value, types.ModuleType) and _users(value):
                for inner, item in list(vars(value).items()):
                    if not inner.startswith("__"):
                        self._visit(f"{name}.{inner}", item, 1, seen)
            else:
                self._visit(name, value, 0, seen)
        except Exception:  # An object that does not like to be looked at keeps its secrets.
            return

    @abstractmethod
    def _visit(self, path: str, value: Any, depth: int, seen: dict[int, int]) -> None:
        """Look at one value, and at what it leads to."""


def _arguments(frame: FrameType) -> frozenset[str]:
    code = frame.f_code
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}


def _users(module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and frames.kind_of(file) == frames.USER


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of the user's holds, with how to write the way there."""
    if isinstance(value, dict):
        for key, item in list(value.items())[:WIDEST]:
            yield f"[{key!r}]", item
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:WIDEST]):
            yield f"[{index}]", item
    else:
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and not type(value).__module__.startswith(("numpy", "gymnasium", "gym.")):
            for name, item in list(attributes.items())[:200]:
                if not name.startswith("__"):
                    yield f".{name}", item
