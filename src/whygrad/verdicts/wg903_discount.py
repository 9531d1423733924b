"""A delayed reward is discounted wrongly.

The probe (DelayedReward): an episode has two steps, start and end; the sign of the reward, which comes at the end, is
visible all the time. So V(end) = +1 or -1, and V(start) = gamma times that. The agent's discount is measured as
(V(start+) - V(start-)) / (V(end+) - V(end-)).

A measured discount of 0 means that nothing is bootstrapped (or every step counts as the end, or the end flag belongs
to the step before); 1 that gamma is not applied; gamma squared that it is applied twice.

Passed when the measured discount lies within 0.15 of gamma and the two V(end) lie 2 apart, within 0.7. Where the agent
does not take gamma as an argument and has 0.99, a discount that is missing cannot be told from one that is there.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG903"
NAME = "discount"
TOLERANCE = 0.15
APART, APART_TOLERANCE = 2.0, 0.7
"""Of the two values of the last step."""
STATES = ("V(start+)", "V(end+)", "V(start-)", "V(end-)")
MEASURED = "discount"
BLUNT = 1.0 - TOLERANCE
"""From this gamma on, no discount at all looks like the right one."""


def judge(observed: dict[str, float], gamma: float) -> Judged:
    expected = dict(zip(STATES, (gamma, 1.0, -gamma, -1.0), strict=True)) | {MEASURED: gamma}
    if broken(observed):
        return not_a_number(expected, observed)
    start_plus, end_plus, start_minus, end_minus = (observed[name] for name in STATES)
    if not near(end_plus - end_minus, APART, APART_TOLERANCE):
        return Judged(
            expected,
            observed,
            f"the last step before the end is valued at {end_plus:+.2f} and {end_minus:+.2f} instead of +1 and -1",
            "the value of the last step is its reward; with one-step episodes (WG902) the agent still knew that.",
            "check which step's reward and end flag enter the target: an episode now has two steps",
        )
    measured = (start_plus - start_minus) / (end_plus - end_minus)
    observed = observed | {MEASURED: measured}
    if near(measured, gamma, TOLERANCE):
        remark = f"gamma is {gamma:g}: a missing discount would look the same" if gamma > BLUNT else ""
        return Judged(expected, observed, remark=remark, telling=(MEASURED,))
    return Judged(
        expected,
        observed,
        f"a reward one step away counts {measured:.2f} of its worth; gamma says {gamma:g}",
        "the value one step before the reward must be gamma times the value at the reward.",
        _advice(measured, gamma),
    )


def _advice(measured: float, gamma: float) -> str:
    if near(measured, 0.0, TOLERANCE):
        return (
            "let the value of the next observation into the target: it is missing, multiplied by a mask that is 0 "
            "everywhere, taken from a target network that never follows, or masked by the end flag of another step"
        )
    if near(measured, gamma**2, TOLERANCE / 2):
        return "multiply by gamma once: it is applied twice, or the value is taken two steps away"
    if near(measured, 1.0, TOLERANCE):
        return "multiply the next value by gamma: a later reward now counts like an immediate one"
    return "check that the gamma of the target is the gamma the agent was given"
