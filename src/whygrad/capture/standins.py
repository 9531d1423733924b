"""Frames that stand in for the caller's while we call a framework's function on its behalf.

A warning names the frame that called: it counts outwards from the function that warns, reads the file, the line and
the module there, and remembers in that module's globals that it was shown. With our own frames in between it would name
us, be shown twice or not at all, and escape the script's filters. So the call is made from frames that have the
caller's file, line and globals, as many as a warning may count through.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

NAME = "<on behalf of the caller>"
"""The qualified name of their code, by which we know them; the plain one, which is logged, is the caller's."""
LEVELS = 5
"""Frames that functions written in Python may count through (torch 2.13's nn.Softmax says five). One written in C
warns about its caller."""
made: list[Callable[[CodeType], None]] = []
"""Told of the code of each, before it runs: a compiler is not to take it for the script's."""
_MOST = 4096
_known: dict[tuple[int, int], tuple[CodeType, FunctionType]] = {}
"""By code and instruction; the code itself is kept, so that its identity does not pass to another."""


def call(function: Callable[..., Any], args: Any, kwargs: Any, frame: FrameType) -> Any:
    """Call as if from this frame, unless a debugger or a profiler of the script's would take that for its own code."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return function(*args, **kwargs)
    if not isinstance(function, FunctionType):
        return _standing_in(frame)((), function, args, kwargs)
    inner: tuple[Any, ...] = ()
    outer = frame
    for _ in range(LEVELS - 1):
        if outer.f_back is None:
            break
        inner = (_standing_in(outer), inner)
        outer = outer.f_back
    return _standing_in(outer)(inner, function, args, kwargs)


def forget() -> None:
    """At the end: what the script's variables hold is to go away when Python clears them."""
    _known.clear()


def _standing_in(frame: FrameType) -> FunctionType:
    key = id(frame.f_code), frame.f_lasti
    found = _known.get(key)
    if found is None or found[1].__globals__ is not frame.f_globals:
        if len(_known) >= _MOST:
            _known.clear()
        code = _code(frame)
        for told in made:
            told(code)
        found = _known[key] = frame.f_code, FunctionType(code, frame.f_globals)
    return found[1]


def _code(frame: FrameType) -> CodeType:
    code: CodeType = _stand_in.__code__  # On one line, which is then the caller's.
    caller = frame.f_code
    return code.replace(
        co_filename=caller.co_filename, co_firstlineno=frame.f_lineno or 1, co_name=caller.co_name, co_qualname=NAME
    )


# fmt: off
def _stand_in(inner: Any, function: Any, args: Any, kwargs: Any) -> Any: return inner[0](inner[1], function, args, kwargs) if inner else function(*args, **kwargs)  # noqa: E501
# fmt: on
