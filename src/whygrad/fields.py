"""Data that was read from a file, field by field: each has the type and the range that its users count on.

What a key is called and what may stand there is said once, where the value is made of it; a file of another version may
hold more keys, and lack those that have a default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")
Decode = Callable[[object], T]

LARGEST = 2**53
"""Whole numbers up to here are the same in every program that reads JSON."""
DEEPEST = 32
"""Levels of data that is kept as it is."""


class FieldError(ValueError):
    """A field is not what it must be; the message names it."""

    def __init__(self, wanted: str, path: str = "") -> None:
        super().__init__(f"{path.removeprefix('.') or 'it'} {wanted}")
        self.wanted, self.path = wanted, path

    def under(self, step: str) -> FieldError:
        return FieldError(self.wanted, step + self.path)


class Fields:
    """The keys of an object."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise FieldError("must be an object")
        self._value = value

    def __call__(self, key: str, decode: Decode[T]) -> T:
        """A key that must be there."""
        if key not in self._value:
            raise FieldError("is missing", f".{key}")
        try:
            return decode(self._value[key])
        except FieldError as error:
            raise error.under(f".{key}") from None

    def get(self, key: str, decode: Decode[T], default: T) -> T:
        """A key that not every version writes."""
        return self(key, decode) if key in self._value else default


def text(value: object) -> str:
    if not isinstance(value, str):
        raise FieldError("must be text")
    return value


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise FieldError("must be true or false")
    return value


def whole(least: int = 0, most: int = LARGEST) -> Decode[int]:
    def decode(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise FieldError(f"must be a whole number from {least} to {most}")
        return value

    return decode


def number(least: float = -math.inf, most: float = math.inf) -> Decode[float]:
    """A finite number."""
    limits = f" from {least:g} to {most:g}" if math.isfinite(least) else ""

    def decode(value: object) -> float:
        found = real(value)
        if not math.isfinite(found) or not least <= found <= most:
            raise FieldError(f"must be a finite number{limits}")
        return found

    return decode


def real(value: object) -> float:
    """Any number, also one that is infinite or none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise FieldError("must be a number")
    return float(value) if abs(value) <= 10**300 or isinstance(value, float) else math.inf


def one_of(*words: str) -> Decode[str]:
    def decode(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise FieldError(f"must be one of {', '.join(word or 'nothing' for word in words)}")
        return value

    return decode


def maybe(decode: Decode[T]) -> Decode[T | None]:
    return lambda value: decode(value) if value is not None else None


def items(decode: Decode[T], most: int | None = None) -> Decode[list[T]]:
    def decoded(value: object) -> list[T]:
        if not isinstance(value, list):
            raise FieldError("must be a list")
        if most is not None and len(value) > most:
            raise FieldError(f"must have at most {most} entries")
        out: list[T] = []
        try:
            for entry in value:
                out.append(decode(entry))
        except FieldError as error:
            raise error.under(f"[{len(out)}]") from None
        return out

    return decoded


def table(decode: Decode[T]) -> Decode[dict[str, T]]:
    """An object whose keys are names that the file chooses."""
    return numbered(decode, text)


def numbered(decode: Decode[T], key: Decode[K]) -> Decode[dict[K, T]]:
    """An object whose keys stand for something else than text."""

    def decoded(value: object) -> dict[K, T]:
        if not isinstance(value, dict):
            raise FieldError("must be an object")
        out: dict[K, T] = {}
        name: object = ""
        try:
            for name, entry in value.items():
                out[key(name)] = decode(entry)
        except FieldError as error:
            raise error.under(f"[{str(name)[:40]!r}]") from None
        return out

    return decoded


def digits(decode: Decode[int]) -> Decode[int]:
    """A whole number that is written as text, as the keys of objects are."""

    def decoded(value: object) -> int:
        written = text(value)
        if not written.removeprefix("-").isdecimal() or not written.isascii() or len(written) > 20:
            raise FieldError("must be a whole number")
        return decode(int(written))

    return decoded


def plain(value: object, depth: int = DEEPEST) -> object:
    """Data that is only kept; what is written again must not be nested without end."""
    if isinstance(value, (dict, list)):
        if not depth:
            raise FieldError(f"must have at most {DEEPEST} levels")
        for entry in value.values() if isinstance(value, dict) else value:
            plain(entry, depth - 1)
    return value
