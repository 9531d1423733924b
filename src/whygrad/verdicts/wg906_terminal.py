"""Values bootstrap past a terminal state.

The probe (Terminal): an episode starts in one of two states and ends (`terminated`) with its first step. The empty
state pays 0, the paying one 1, and the observation that comes with the end looks like the paying state. So V(empty) = 0
and V(paying) = 1: nothing follows an end.

An agent that lets the value of the next observation in anyway learns V(paying) = 1 / (1 - gamma) and
V(empty) = gamma / (1 - gamma); one that goes on with the first observation of the next episode is nearly as far off.

Passed when both values lie within 0.35.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG906"
NAME = "terminal"
TOLERANCE = 0.35
EMPTY, PAYING = "V(empty)", "V(paying)"


def judge(observed: dict[str, float], gamma: float) -> Judged:
    expected = {EMPTY: 0.0, PAYING: 1.0}
    if broken(observed):
        return not_a_number(expected, observed)
    if all(near(observed[name], wanted, TOLERANCE) for name, wanted in expected.items()):
        return Judged(expected, observed)
    empty, paying = observed[EMPTY], observed[PAYING]
    if empty > TOLERANCE or paying > 1 + TOLERANCE:
        return Judged(
            expected,
            observed,
            f"values bootstrap past a terminal state: an end that pays nothing is valued at {empty:+.2f}",
            f"nothing follows a terminal state, so its step is worth its reward; with gamma {gamma:g} and no mask at "
            f"the end the two values would be {gamma / max(1 - gamma, 1e-9):.2f} and {1 / max(1 - gamma, 1e-9):.2f}.",
            "multiply the next value by (1 - terminated), with the flag of the same step, and start returns and "
            "advantages afresh at the end of an episode",
        )
    return Judged(
        expected,
        observed,
        f"the last step of an episode is not valued at its reward: {empty:+.2f} and {paying:+.2f} instead of 0 and 1",
        "nothing follows a terminal state, so its step is worth its reward and nothing else.",
        "check the sign and the place of the terminal mask in the target",
    )
