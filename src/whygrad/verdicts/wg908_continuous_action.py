"""The continuous policy does not move towards the rewarded action.

The probe (ContinuousAction): one state, every episode lasts one step, an action has two numbers with different bounds,
-4 to 4 and -1 to 1. The reward is 1 minus the squared distance to (2, -0.5), each number measured by its bound, so that
is where the policy must go.

A failure after WG904 was passed means that the direction is right and the place is not: actions that are not scaled to
the bounds, a log-probability that leaves out one of the numbers or belongs to the clipped action, a deviation that
never shrinks, or a policy that always ends at a bound.

Passed when each mean action lies within 20 % of its bound: 0.8 for the first, 0.2 for the second.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG908"
NAME = "continuous-action"
TOLERANCE = 0.2
"""Of the bound."""
BOUNDS = (4.0, 1.0)
TARGET = (2.0, -0.5)
ACTION = ("action[0]", "action[1]")


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    expected = dict(zip(ACTION, TARGET, strict=True))
    if broken(observed):
        return not_a_number(expected, observed)
    first, second = (observed[name] for name in ACTION)
    if _found(first, 0) and _found(second, 1):
        return Judged(expected, observed)
    return Judged(
        expected,
        observed,
        f"the continuous policy does not find the rewarded action: ({first:+.2f}, {second:+.2f}) instead of "
        f"({TARGET[0]:+g}, {TARGET[1]:+g})",
        "the reward is highest at one place inside the bounds and falls off smoothly around it.",
        _advice(first, second),
    )


def _found(number: float, index: int) -> bool:
    return near(number, TARGET[index], TOLERANCE * BOUNDS[index])


def _advice(first: float, second: float) -> str:
    if _found(second, 1) and near(first, 1.0, 0.15):
        return "scale the action to the bounds of the action space: it never leaves (-1, 1)"
    if _found(first, 0) or _found(second, 1):
        return "sum the log-probability over all numbers of an action: one of them is not trained"
    if abs(first) >= 0.95 * BOUNDS[0] or abs(second) >= 0.95 * BOUNDS[1]:
        return (
            "the policy runs into a bound: check that the log-probability belongs to the action that was drawn, and "
            "the learning rate"
        )
    return "check the log-probability of the drawn action, its deviation, and what the advantage belongs to"
