"""Calls of a framework's functions that come past us first, without a name being bound anew.

A function of Python's keeps its identity and gets other instructions for a while. So whoever imported it before is
seen as well, whoever compares, pickles or inspects it notices nothing, and a script that puts a function of its own in
its place is never overruled: there is no name to restore. Only functions written in C are bound anew.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import types
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from whygrad.about import HOME

Function = Callable[..., Any]
Making = Callable[[Function], Function]
"""From a function that does what the original does to the one that is to be called instead."""

_ABSENT = object()
_NAME = "__whygrad__"
_UNCOUNTED = os.path.join(HOME, "not importlib._bootstrap")
_exchanged: dict[FunctionType, tuple[CodeType, CodeType, Junction]] = {}
"""By function: its instructions, ours, and where those find us. Made once per process."""
_LINE_ALONE = 0x80 | 13 << 3
"""An entry of CPython's location table that holds a line and no columns (Objects/locations.md)."""
_codes: set[int] = set()
"""Identities of our instructions."""


class Junction(types.ModuleType):
    """Where the exchanged instructions of one function find us, by a name of its module's. (torch 2.13's compiler fails
    on instructions that hold a function as a constant; attributes of a module it can follow.)"""

    def __init__(self, number: int, original: Function) -> None:
        super().__init__(f"{_NAME}{number}")
        self.original: Function = original
        self.handler: Function = original
        self.compiling: Callable[[], bool] = bool
        self.finish: Function | None = original

    def __reduce__(self) -> tuple[Any, ...]:
        """For whoever ships functions by value (cloudpickle) to where nobody watches: there they do what they did."""
        still = {"original": self.original, "handler": self.original, "finish": self.original}
        return types.SimpleNamespace, (), {**still, "compiling": bool}


class Detours:
    """Functions that lead past us until `undo`, which restores what is still ours."""

    def __init__(self, compiling: Callable[[], bool] = lambda: False) -> None:
        self._compiling = compiling
        """Whether a compiler is reading: it is to find the original."""
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, make: Making, *, finish: Function | None = None) -> None:
        """Lead `owner.name` past what `make` returns.

        An exception of the script's may land anywhere on the way, before the original was called. For a function of
        Python's that must have its effect all the same, such as one that switches back, `finish` is called then.
        """
        found = vars(owner).get(name, _ABSENT)
        plain = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
        if isinstance(plain, FunctionType):
            self._exchange(plain, make, finish)
        else:
            self._bind(owner, name, found, make)

    def _exchange(self, function: FunctionType, make: Making, finish: Function | None = None) -> None:
        before, ours, junction = _instructions(function, finished=finish is not None)
        original = junction.original = variant(function, before)
        junction.handler, junction.finish, junction.compiling = make(original), finish, self._compiling
        function.__globals__[junction.__name__] = junction
        function.__code__ = ours

        def undo() -> None:
            junction.handler = junction.finish = original  # A thread may be on its way.
            if function.__code__ is ours:
                function.__code__ = before

        self._undo.append(undo)

    def _bind(self, owner: Any, name: str, found: Any, make: Making) -> None:
        original = getattr(owner, name)
        replacement = make(original)
        if found is not _ABSENT:
            functools.update_wrapper(replacement, original)
        if isinstance(owner, types.ModuleType):  # What is written in C may say otherwise, and would not be found there.
            replacement.__module__, replacement.__qualname__ = owner.__name__, name
        bound = staticmethod(replacement) if name == "__new__" else replacement
        setattr(owner, name, bound)

        def undo() -> None:
            if vars(owner).get(name, _ABSENT) is not bound:
                return  # The script has put something else there.
            if found is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, found)

        self._undo.append(undo)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


def prepare(function: FunctionType) -> None:
    """Make what `set` exchanges, for later: a script may forbid that anything is compiled from some moment on."""
    _instructions(function)


def caller() -> FrameType:
    """The frame that called the function that leads past whoever asks."""
    frame = sys._getframe(2)
    return frame.f_back if id(frame.f_code) in _codes and frame.f_back is not None else frame


def hidden(function: Function) -> Function:
    """The same function, which the warnings of what it calls do not count when they look for whom to name.

    Python itself leaves out the frames of its import system, and knows them by the name of their file.
    """
    assert isinstance(function, FunctionType)
    return variant(function, function.__code__.replace(co_filename=_UNCOUNTED))


def variant(function: FunctionType, code: CodeType) -> FunctionType:
    """The same function with other instructions."""
    found = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    found.__kwdefaults__ = function.__kwdefaults__
    return found


def hides(code: CodeType, leading: CodeType) -> bool:
    """Whether these are the instructions of the original that another frame leads past us, left out of warnings."""
    return code.co_filename == _UNCOUNTED and code.co_firstlineno == leading.co_firstlineno


def ours(code: CodeType) -> bool:
    """Whether these instructions only lead past us."""
    return id(code) in _codes


def _instructions(function: FunctionType, *, finished: bool = False) -> tuple[CodeType, CodeType, Junction]:
    known = _exchanged.get(function)
    if known is None or known[0] is not function.__code__:
        junction = Junction(len(_codes), variant(function, function.__code__))
        ours = _leading_past(function.__code__, junction.__name__, finished=finished)
        known = _exchanged[function] = function.__code__, ours, junction
        _codes.add(id(known[1]))
    return known


def _leading_past(code: CodeType, junction: str, *, finished: bool) -> CodeType:
    """Instructions with the signature, name and place of the original."""
    parameters, passed = _signature(code)
    # A function with variables of an outer one keeps them; the line after the return is never reached.
    outer = f"def outer({', '.join(code.co_freevars)}):\n" if code.co_freevars else "if True:\n"
    attempt = "try" if finished else "if True"
    finish = f"  except BaseException: {junction}.finish({passed}); raise\n" if finished else ""
    source = (
        f"{outer} def {code.co_name}({parameters}):\n"
        f"  {attempt}:\n"
        f"   if {junction}.compiling(): return {junction}.original({passed})\n"
        f"   return {junction}.handler({passed})\n"
        f"{finish}"
        f"  {', '.join(code.co_freevars) or None}\n"
    )
    made = compile(source, code.co_filename, "exec")
    while made.co_name != code.co_name:
        made = next(constant for constant in made.co_consts if isinstance(constant, CodeType))
    return made.replace(
        co_firstlineno=code.co_firstlineno, co_qualname=code.co_qualname, co_linetable=_lines_alone(made)
    )


def _lines_alone(code: CodeType) -> bytes:
    """All instructions on the first line and without columns: a traceback would underline those of other code."""
    units = len(code.co_code) // 2
    return b"".join(bytes((_LINE_ALONE | (min(8, units - start) - 1), 0)) for start in range(0, units, 8))


def _signature(code: CodeType) -> tuple[str, str]:
    """What a function takes, and how to hand that on; defaults belong to the function and stay there."""
    named, keywords = code.co_argcount, code.co_kwonlyargcount
    positional = list(code.co_varnames[:named])
    only = code.co_varnames[named : named + keywords]
    rest = list(code.co_varnames[named + keywords :])
    parameters, passed = list(positional), list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & inspect.CO_VARARGS:
        star = f"*{rest.pop(0)}"
        parameters.append(star)
        passed.append(star)
    elif only:
        parameters.append("*")
    parameters += only
    passed += [f"{name}={name}" for name in only]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parameters.append(f"**{rest[0]}")
        passed.append(f"**{rest[0]}")
    return ", ".join(parameters), ", ".join(passed)
