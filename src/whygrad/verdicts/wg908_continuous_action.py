"""The continuous policy does not move towards the rewarded action.

The probe (ContinuousAction): one state, every episode lasts one step, an action has two numbers with different bounds,
-5 to 5 and -1 to 1. The reward is 1 minus the squared distance to (2.5, -0.5), each number measured by its bound, so
that is where the policy must go. It is asked again with a fresh agent and the mirrored place, (-2.5, 0.5), so that a
number which is not trained does not pass where it began.

A failure after WG904 was passed means that the direction is right and the place is not: actions that are not scaled to
the bounds, a log-probability that leaves out one of the numbers or belongs to another action, a deviation that
never shrinks, or a policy that always ends at a bound.

Passed when each mean action lies within 28 % of its bound: 1.4 for the first, 0.28 for the second.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG908"
NAME = "continuous-action"
TOLERANCE = 0.28
"""Of the bound; an action that never passes 1 is 0.3 away from the place."""
BOUNDS = (5.0, 1.0)
TARGET = (2.5, -0.5)
PLAIN, MIRRORED = "action", "mirrored action"


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    expected = {
        f"{name}[{index}]": sign * number
        for name, sign in ((PLAIN, 1.0), (MIRRORED, -1.0))
        for index, number in enumerate(TARGET)
    }
    if broken(observed):
        return not_a_number(expected, observed)
    folded = [(observed[f"{PLAIN}[{i}]"], -observed[f"{MIRRORED}[{i}]"]) for i in range(len(TARGET))]
    worst = [max(pair, key=lambda number: abs(number - TARGET[i])) for i, pair in enumerate(folded)]
    if all(_found(number, i) for i, number in enumerate(worst)):
        return Judged(expected, observed, telling=(f"{PLAIN}[0]", f"{PLAIN}[1]"))
    said = ", ".join(f"{number:+.2f}" for number in observed.values())
    return Judged(
        expected,
        observed,
        f"the continuous policy does not find the rewarded action: {said} instead of +2.5, -0.5, and mirrored -2.5, "
        "+0.5",
        "the reward is highest at one place inside the bounds and falls off smoothly around it.",
        _advice(*worst),
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
