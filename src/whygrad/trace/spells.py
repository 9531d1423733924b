"""When something was so: what the looks at a run that were taken now and then say about the time in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spell:
    """The part of a run in which something was seen."""

    first: int
    """The update at which it was seen first."""
    last: int
    before: int | None = None
    """The latest look before it; None where it was there from the start."""
    after: int | None = None
    """The first look after it; None where it was there to the end."""
    times: int = 0
    """Looks that showed it."""
    looks: int = 0
    """All looks from the first that showed it to the last."""

    @property
    def over(self) -> bool:
        """The latest look did not show it any more."""
        return self.after is not None

    @property
    def evidence(self) -> dict[str, object]:
        return {"first_update": self.first, "last_update": self.last}


def spell(looks: Sequence[tuple[int, bool]], often: int, against: int = 1) -> Spell | None:
    """The longest part of a run in which enough of the looks, and so many, showed something; None without one.

    A look that did not show it outweighs so many that did: with 1, half of them must. What a short run shows is not
    forgotten because the run goes on without it, nor because it began later.
    """
    start, end = _longest(looks, against)
    shown = [index for index in range(start, end) if looks[index][1]]
    if len(shown) < often:
        return None
    first, last = shown[0], shown[-1]
    return Spell(
        looks[first][0],
        looks[last][0],
        looks[first - 1][0] if first else None,
        looks[last + 1][0] if last + 1 < len(looks) else None,
        len(shown),
        last - first + 1,
    )


def throughout(looks: Sequence[tuple[int, bool]], often: int, part: int) -> Spell | None:
    """Every look showed it, so many at least; else the longest part of the run in which so many did, and all."""
    if len(looks) >= often and all(so for _, so in looks):
        return spell(looks, often)
    return spell(looks, max(often, part), against=len(looks))


def between(looks: Sequence[tuple[int, bool]]) -> Spell | None:
    """The first look that showed something and the last one, whatever there was between them."""
    shown = [index for index, (_, so) in enumerate(looks) if so]
    if not shown:
        return None
    first, last = shown[0], shown[-1]
    before = looks[first - 1][0] if first else None
    after = looks[last + 1][0] if last + 1 < len(looks) else None
    return Spell(looks[first][0], looks[last][0], before, after, len(shown), last - first + 1)


def _longest(looks: Sequence[tuple[int, bool]], against: int) -> tuple[int, int]:
    """The longest stretch in which enough of the looks showed it: its start and its end."""
    sums = [0]
    for _, so in looks:
        sums.append(sums[-1] + (1 if so else -against))
    starts: list[int] = []
    for index, value in enumerate(sums):
        if not starts or value < sums[starts[-1]]:
            starts.append(index)  # A stretch that began later, and no lower, would be shorter.
    best = (0, 0)
    for end in range(len(sums) - 1, -1, -1):
        while starts and sums[end] >= sums[starts[-1]]:
            start = starts.pop()
            if end - start > best[1] - best[0]:
                best = (start, end)
    return best
