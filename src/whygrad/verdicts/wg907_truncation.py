"""A time limit is treated as a terminal state.

The probe (Truncation): an episode begins in start (reward 0), moves to stay, where every step pays 1, and is cut off
by a time limit (`truncated`, not `terminated`) after the second step. The state goes on, only the watching ends, so
V(stay) = 1 / (1 - gamma) and V(start) = gamma / (1 - gamma).

An agent that takes the limit for an end learns V(stay) = 1; one that bootstraps from the first observation of the next
episode, instead of the last one of this episode, learns 1 / (1 - gamma^2).

Passed when V(stay) lies within 18 % of its value. With a gamma above 0.8, which takes many more updates to build up,
V(stay) of at least 2 is enough.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG907"
NAME = "truncation"
TOLERANCE = 0.18
"""Relative: 2.5 is expected with gamma 0.6, and 1.56 is the nearest mistake."""
SLOW = 0.8
ENOUGH = 2.0
START, STAY = "V(start)", "V(stay)"


def judge(observed: dict[str, float], gamma: float) -> Judged:
    whole = 1.0 / max(1.0 - gamma, 1e-9)
    expected = {START: gamma * whole, STAY: whole}
    if broken(observed):
        return not_a_number(expected, observed)
    stay = observed[STAY]
    if near(stay, whole, TOLERANCE * whole):
        return Judged(expected, observed)
    if gamma > SLOW and ENOUGH <= stay <= whole:
        remark = f"gamma is {gamma:g}: the value is still on its way to {whole:.0f}"
        return Judged(expected, observed, remark=remark)
    restarted = 1.0 / (1.0 - gamma**2)
    if near(stay, restarted, TOLERANCE * restarted):
        return Judged(
            expected,
            observed,
            f"after a time limit the value goes on from the next episode: {stay:+.2f} instead of {whole:+.2f}",
            "the observation after a reset is another episode's; the cut episode would have gone on from its own last.",
            "bootstrap from the last observation of the cut episode (final_obs in a vector environment), not from the "
            "one that reset returned",
        )
    if stay > whole:
        return Judged(
            expected,
            observed,
            f"values grow past what the rewards can sum to: {stay:+.2f} instead of {whole:+.2f}",
            "one per step, discounted, cannot be worth more.",
            "check that rewards after a time limit are not counted twice",
        )
    return Judged(
        expected,
        observed,
        f"a time limit is treated as a terminal state: {stay:+.2f} instead of {whole:+.2f}",
        "the state goes on after the limit, only the watching ends: its value must be bootstrapped.",
        "mask the next value with `terminated` alone, not with `terminated or truncated`",
    )
