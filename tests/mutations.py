"""Damage to files and requests, the same for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

HUGE = "\x00huge\x00"
"""Stands for a number of 5,000 digits, which Python itself does not write."""
DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]
NUMBERS: list[Any] = [
    *(0, 1, -1, 2**31, 2**53, 2**63, -(2**63), 10**9, 10**18, 10**400, -(10**400), HUGE),
    *(0.5, 1e-320, 1e154, 1e300, 1.7e308, -1e308, float("nan"), float("inf"), -float("inf")),
]
TEXTS: list[Any] = [
    *("", " ", "x", "0", "-1", "9" * 5000, "delete line " + "9" * 5000, "x" * 20_000, "\n\n", "\t", "\r", "../../x"),
    *("\x1b[2J\x1b]0;title\x07", "\x9b31m", "\u202edetcerid", "\u2066\u2069", "\u200b", "\u2028", "\ud800"),
    *("\udfff\x00", "</script><script>", "[bold]", "error", "\U000e0041", "$"),
]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], [None], {"": None}, {"a": 1}, [0] * 70, DEEP]
EVERYTHING = [*NUMBERS, *TEXTS, *OTHERS]


def documents(text: str, count: int, seed: int) -> Iterator[bytes]:
    """So many damaged forms of a JSON document: its bytes, its keys, its types and its values."""
    chance = random.Random(seed)
    data = json.loads(text)
    places = list(_places(data))
    ways = (_flipped, _cut, _removed, _swapped, _extreme)
    for number in range(count):
        way = ways[number % len(ways)]
        if way in (_flipped, _cut):
            yield way(text.encode(), chance)
            continue
        holder, key = chance.choice(places)
        undo = _undoing(holder)
        way(holder, key, holder[key], chance)
        yield json.dumps(data).replace(json.dumps(HUGE), "7" * 5000).encode()
        undo()


def worsened(text: str, count: int, seed: int, accepted: Callable[[Any], bool]) -> Iterator[Any]:
    """The same document with one damage after the other, of which only those stay that are accepted."""
    chance = random.Random(seed)
    data = json.loads(text)
    for _ in range(count):
        holder, key = chance.choice(list(_places(data)))
        undo = _undoing(holder)
        chance.choice((_removed, _swapped, _extreme, _extreme))(holder, key, holder[key], chance)
        if len(json.dumps(data)) < 1_000_000 and accepted(data):
            yield data
        else:
            undo()


def _undoing(holder: Any) -> Callable[[], None]:
    order = list(holder.items()) if isinstance(holder, dict) else list(holder)

    def undo() -> None:
        holder.clear()
        holder.update(order) if isinstance(holder, dict) else holder.extend(order)

    return undo


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _flipped(*given: Any) -> bytes:
    data, chance = bytearray(given[0]), given[1]
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        data[chance.randrange(len(data))] = chance.choice((chance.randrange(256), chance.choice(b'"{}[]:,0x\\-e')))
    return bytes(data)


def _cut(*given: Any) -> bytes:
    """Something left out, or repeated, in the middle or to the end."""
    data, chance = given
    start = chance.randrange(len(data))
    end = chance.choice((len(data), start + chance.randrange(200)))
    return bytes(data[:start] + (data[end:] if chance.random() < 0.5 else data[start:end] + data[start:]))


def _removed(*given: Any) -> bytes:
    holder, key, before, chance = given
    del holder[key]
    if isinstance(holder, dict) and chance.random() < 0.5:
        holder[chance.choice(TEXTS)] = before
    return b""


def _swapped(*given: Any) -> bytes:
    holder, key, _, chance = given
    holder[key] = chance.choice(EVERYTHING)
    return b""


def _extreme(*given: Any) -> bytes:
    """A value of the same kind, as far out as that kind goes."""
    holder, key, before, chance = given
    if isinstance(before, str):
        holder[key] = chance.choice(TEXTS)
    elif isinstance(before, (int, float)) and not isinstance(before, bool):
        holder[key] = chance.choice(NUMBERS)
    elif isinstance(before, list):
        holder[key] = before * chance.choice((0, 2, 40))
    elif isinstance(before, dict):
        holder[key] = {chance.choice(TEXTS): value for value in before.values()}
    return b""
