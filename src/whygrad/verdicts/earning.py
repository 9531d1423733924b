"""Policies are judged by what they earn per step, in situations that ask for opposite actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whygrad.verdicts.judged import Judged, broken, not_a_number

ENOUGH = 0.5
BEST = 1.0
Said = Callable[..., tuple[str, str]]
"""From the rewards to the consequence and the advice."""


def judged(observed: dict[str, float], say: Said, why: str) -> Judged:
    expected = dict.fromkeys(observed, BEST)
    if broken(observed):
        return not_a_number(expected, observed)
    if all(reward >= ENOUGH for reward in observed.values()):
        return Judged(expected, observed, telling=(min(observed, key=observed.__getitem__),))
    message, advice = say(*observed.values())
    return Judged(expected, observed, message, why, advice)


def turned(rewards: Sequence[float]) -> bool:
    """The worse action is learned everywhere."""
    return all(reward <= -ENOUGH for reward in rewards)


def listed(rewards: Sequence[float]) -> str:
    """`+1.00 and -0.97`."""
    said = [f"{reward:+.2f}" for reward in rewards]
    return " and ".join([", ".join(said[:-1]), said[-1]])
