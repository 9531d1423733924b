"""The outcome of judging: numbers against numbers, and a sentence where they disagree."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Judged:
    """A probe is passed when there is nothing to say about it."""

    expected: dict[str, float]
    observed: dict[str, float]
    message: str = ""
    """The consequence, empty when passed."""
    why: str = ""
    fix: str = ""
    remark: str = ""
    """Said although the probe is passed: what it could not tell, or what to look at."""

    telling: tuple[str, ...] = ()
    """The numbers that a single line shows; all of them where none is named."""

    @property
    def passed(self) -> bool:
        return not self.message


def shown(numbers: dict[str, float]) -> str:
    """`V(left) = -1.02, V(right) = +0.97`."""
    return ", ".join(f"{name} = {number:+.2f}" for name, number in numbers.items())


def near(observed: float, expected: float, tolerance: float) -> bool:
    """Never true of what is not a number."""
    return isfinite(observed) and abs(observed - expected) <= tolerance


def broken(observed: dict[str, float]) -> bool:
    """Whether any of them is not a number any more."""
    return not all(isfinite(number) for number in observed.values())


def not_a_number(expected: dict[str, float], observed: dict[str, float]) -> Judged:
    return Judged(
        expected,
        observed,
        "the agent answers with numbers that are not finite",
        "a loss or a gradient became infinite or NaN, and every weight with it.",
        "run the training under `whygrad run`: it names the operation that made the first NaN",
    )
