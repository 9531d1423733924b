"""Whose code is running: the user's frame behind an operation, at the price of a short walk."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from dataclasses import replace
from types import CodeType, FrameType

from whygrad.about import HOME
from whygrad.capture import standins
from whygrad.source import positions
from whygrad.trace import Site

STDLIB, USER, LIBRARY, FRAMEWORK, OWN = 4, 3, 2, 1, 0
GENERATED = "__autograph_generated_file"
"""How the files begin that TensorFlow writes functions of the user's into; who maps them back reads them first."""

_homes: tuple[str, ...] = ()
_STDLIB = tuple(os.path.abspath(sysconfig.get_paths()[k]) + os.sep for k in ("stdlib", "platstdlib"))
_kinds: dict[str, int] = {}

Place = tuple[CodeType, int]
"""An instruction; `whygrad.source.positions` turns it into an expression when somebody asks."""


def framework(*files: str | None) -> None:
    """The folders of these modules belong to the framework that is watched: nobody is sent there."""
    global _homes
    _homes += tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in files if file is not None)
    _kinds.clear()


def kind_of(file: str) -> int:
    """Whose file this is, decided once."""
    kind = _kinds.get(file)
    if kind is None:
        kind = _kinds[file] = _classify(file)
    return kind


def kind_of_code(code: CodeType) -> int:
    """Whose code this is; a frame that stands in for the user's is ours."""
    return OWN if code.co_qualname == standins.NAME else kind_of(code.co_filename)


def _classify(file: str) -> int:
    if file.startswith("<") and not file.startswith(("<string>", "<ipython", "<stdin>")):
        return FRAMEWORK if "torch" in file or "eval" in file else STDLIB
    path = os.path.abspath(file)
    if path.startswith(HOME):
        return USER if os.path.dirname(path) == os.path.join(HOME, "agents") else OWN  # Agents are watched, too.
    if path.startswith(_homes) or os.path.basename(path).startswith(GENERATED):
        return FRAMEWORK
    parts = path.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return LIBRARY
    return STDLIB if path.startswith(_STDLIB) else USER


def locate(frame: FrameType | None) -> tuple[CodeType | None, int, Place | None]:
    """The innermost user frame from here outwards, and the library line it called, if any."""
    kinds = _kinds
    inner: Place | None = None
    while frame is not None:
        code = frame.f_code
        kind = kinds.get(code.co_filename)
        if kind is None:
            kind = kind_of(code.co_filename)
        if kind >= LIBRARY and code.co_qualname != standins.NAME:
            if kind == USER:
                return code, frame.f_lasti, inner
            if kind == LIBRARY and inner is None:
                inner = (code, frame.f_lasti)
        frame = frame.f_back
    return None, 0, inner


def site(code: CodeType | None, lasti: int, inner: Place | None = None) -> Site | None:
    """The expression, in the user's code if any of it was on the stack."""
    if code is not None:
        found = positions.resolve(code, lasti)
        if inner is None:
            return found
        library = positions.resolve(*inner)
        return replace(found, within=f"{library.file}:{library.line}:{library.col}")
    return positions.resolve(*inner) if inner is not None else None


def variables(frame: FrameType) -> dict[str, object]:
    """The local variables, without leaving a trace of having looked.

    Before Python 3.13 a frame keeps the dictionary it once handed out, and with it every value that
    the user deletes afterwards.
    """
    shown = frame.f_locals
    copy = dict(shown)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        shown.clear()
    return copy


def user_site(frame: FrameType | None) -> Site | None:
    return site(*locate(frame))


def user_stack(frame: FrameType | None, most: int = 12) -> tuple[Site, ...]:
    """The user's frames, innermost first."""
    out: list[Site] = []
    while frame is not None and len(out) < most:
        if kind_of_code(frame.f_code) == USER:
            out.append(positions.resolve(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(out)
