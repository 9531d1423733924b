"""Walking through the user's variables to whatever they hold, without running a line of the user's.

Objects are not asked anything: no attribute is looked up by name, nothing is compared, printed or iterated over by a
method that a class of the user's could have replaced. What cannot be seen that way stays unseen.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import FrameType
from typing import Any

from whygrad.capture import frames

DEEPEST = 4
WIDEST = 24
"""Items of a container that are looked at: modules live near its start."""
MOST_ATTRIBUTES = 200
TRIES = 3
PLAIN = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, types.FunctionType, type)
KEYS = frozenset({str, bytes, int, float, bool, type(None)})
"""Keys that may be written out: the `repr` of others may be the user's."""
_bases: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__
_space: Callable[[type], Mapping[str, Any]] = vars(type)["__dict__"].__get__
"""Asked of a class itself, these are looked up by its metaclass, which may be the script's."""
_WAYS = (types.GetSetDescriptorType, types.MemberDescriptorType)
CLOSED = ("numpy", "gymnasium", "gym", "torch")
"""Packages whose objects hold nothing of interest, or far too much."""


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
            kind = frames.kind_of_code(frame.f_code)
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
                    self._begin(name, value, seen)

    def _begin(self, name: str, value: Any, seen: dict[int, int]) -> None:
        if not is_a(value, types.ModuleType):
            self._visit(name, value, 0, seen)
        elif _users(value):
            for inner, item in list(attributes(value).items()):
                if not inner.startswith("__"):
                    self._visit(f"{name}.{inner}", item, 1, seen)

    @abstractmethod
    def _visit(self, path: str, value: Any, depth: int, seen: dict[int, int]) -> None:
        """Look at one value, and at what it leads to."""


def is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    """As `isinstance`, by the object's real type: some pretend to another, and notice being asked."""
    return issubclass(type(value), kind)


def has(value: Any, name: str) -> bool:
    """Whether its class or the object itself has such an attribute, without asking for it."""
    return name in attributes(value) or bool(defined_in(value, name))


def defined_in(value: Any, name: str) -> str:
    """The package of the class that an attribute comes from; empty where no class has it."""
    for kind in _bases(type(value)):
        if name in _space(kind):
            return str(_space(kind).get("__module__", "")).partition(".")[0]
    return ""


def attributes(value: Any) -> dict[str, Any]:
    """What the object itself holds; nothing where its class has put something of its own in the way there."""
    for kind in _bases(type(value)):
        way = _space(kind).get("__dict__")
        if way is not None:
            found = way.__get__(value) if type(way) in _WAYS else None
            return found if type(found) is dict else {}
    return {}


def attribute(value: Any, name: str) -> Any:
    """As `getattr` for what torch's classes define, past a method of the script's; None if there is none."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def real(value: Any) -> float:
    """The number that a float or an int is, of whatever class."""
    return float.__pos__(value) if is_a(value, float) else float(int.__pos__(value))


def _arguments(frame: FrameType) -> frozenset[str]:
    code = frame.f_code
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}


def _users(module: types.ModuleType) -> bool:
    file = attributes(module).get("__file__")
    return type(file) is str and frames.kind_of(file) == frames.USER


def items(value: Any, most: int, *, last: bool = False) -> list[Any] | None:
    """So many items of a sequence or set, the first or the last ones; None for what is neither."""
    for kind in (list, tuple, deque, set, frozenset):
        if is_a(value, kind):
            return _part(partial(kind.__iter__, value), kind.__len__(value), most, last=last)
    return None


def entries(value: Any, most: int, *, last: bool = False) -> list[tuple[str, Any]] | None:
    """The same of a dictionary, with how a key is written."""
    if not is_a(value, dict):
        return None
    found = _part(partial(dict.items, value), dict.__len__(value), most, last=last)
    return [(_written(key), item) for key, item in found]


def _part(look: Callable[[], Iterable[Any]], count: int, most: int, *, last: bool) -> list[Any]:
    """Another thread may add something meanwhile, or what the collector finds take something out: then once more."""
    for _ in range(TRIES):
        try:
            return list(islice(look(), max(0, count - most) if last else 0, None if last else most))
        except RuntimeError:
            continue
    return []


def _written(key: Any) -> str:
    return f"[{key!r}]" if type(key) in KEYS else "[…]"


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of the user's holds, with how to write the way there."""
    held = entries(value, WIDEST)
    if held is not None:
        yield from held
        return
    listed = items(value, WIDEST)
    if listed is not None:
        yield from ((f"[{index}]", item) for index, item in enumerate(listed))
    elif not closed(value):
        for name, item in list(attributes(value).items())[:MOST_ATTRIBUTES]:
            if type(name) is str and not name.startswith("__"):
                yield f".{name}", item


def closed(value: Any) -> bool:
    module = _space(type(value)).get("__module__")
    return type(module) is str and module.partition(".")[0] in CLOSED
