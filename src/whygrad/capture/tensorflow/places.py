"""Whose line an operation belongs to, in plain Python and in what AutoGraph made of it."""

from __future__ import annotations

import ast
import os
from dataclasses import replace
from functools import lru_cache
from types import CodeType, FrameType

from whygrad.capture import frames
from whygrad.capture.tensorflow import private
from whygrad.source import expressions, files, positions
from whygrad.trace import Site

MOST_FRAMES = 12

Place = tuple[CodeType, int] | tuple[str, int, str]
"""An instruction, or file, line and function where AutoGraph rewrote the code."""


class Where:
    """The user's frames behind something, innermost first, and the library's line that they led to."""

    __slots__ = ("library", "user")

    def __init__(self, user: tuple[Place, ...] = (), library: Place | None = None) -> None:
        self.user = user
        self.library = library

    @property
    def site(self) -> Site | None:
        """The innermost expression of the user's; a library's if none of the user's code was running."""
        place = self.user[0] if self.user else self.library
        if place is None or self.inner is None:
            return resolve(place) if place is not None else None
        return replace(resolve(place), within=f"{self.inner.file}:{self.inner.line}:{self.inner.col}")

    @property
    def sites(self) -> tuple[Site, ...]:
        return tuple(resolve(place) for place in self.user)

    @property
    def inner(self) -> Site | None:
        """The library's line, when that is not what `site` gives."""
        return resolve(self.library) if self.library is not None and self.user else None


def where(frame: FrameType | None) -> Where:
    """Walk outwards from here."""
    user: list[Place] = []
    library: Place | None = None
    while frame is not None and len(user) < MOST_FRAMES:
        code = frame.f_code
        kind, place = frames.kind_of_code(code), (code, frame.f_lasti)
        found: Place | None = place
        if kind == frames.FRAMEWORK and os.path.basename(code.co_filename).startswith(frames.GENERATED):
            found = private.origin(code.co_filename, frame.f_lineno)
            kind = frames.kind_of(found[0]) if found is not None else frames.FRAMEWORK
        if found is not None and kind == frames.USER and (not user or user[-1] != found):
            user.append(found)
        elif kind == frames.LIBRARY and library is None and not user:
            library = found
        frame = frame.f_back
    return Where(tuple(user), library)


def resolve(place: Place) -> Site:
    if len(place) == 2:
        return positions.resolve(*place)
    return _statement(*place)


def function(place: Place) -> tuple[str, str]:
    """The file and the function that a place lies in."""
    if len(place) == 2:
        return place[0].co_filename, place[0].co_name
    return place[0], place[2]


@lru_cache(maxsize=4096)
def _statement(file: str, line: int, function: str) -> Site:
    """AutoGraph keeps lines alone: what stands on the line, as far as one statement goes."""
    text = files.line_at(file, line)
    whole = Site(file, line, len(text) - len(text.lstrip()), line, len(text.rstrip()), function)
    found = expressions.statement(whole)
    value = getattr(found, "value", None)
    if found is None or found.end_lineno is None or not isinstance(value, ast.expr):
        return whole
    if found.lineno != line:
        return whole
    return Site(*expressions.span(file, value), function)
