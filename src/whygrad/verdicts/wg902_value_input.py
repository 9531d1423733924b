"""The value estimate does not depend on the observation as it should.

The probe (ObservationReward): the observation is left or right at random, every episode lasts one step, the reward is
-1 on the left and +1 on the right. So V(left) = -1 and V(right) = +1.

A failure after WG901 was passed means that a constant can be learned and a difference cannot: predictions `(N, 1)`
against targets `(N,)` (every prediction is then pulled to the mean of all targets), observations that never reach the
network, are normalised away or belong to other samples, or gradient that stops before the layers that see them.

Passed when the two values lie 2 apart, within 0.6, and their middle within 0.8 of 0. What follows the end of an episode
is left or right with equal chance, so that a missing terminal mask (WG906) adds noise here and nothing else.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG902"
NAME = "value-input"
APART = 2.0
TOLERANCE, OFFSET = 0.6, 0.8
"""Of the distance, and of the middle: noise moves both values together more than it moves them apart."""
LEFT, RIGHT = "V(left)", "V(right)"


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    expected = {LEFT: -1.0, RIGHT: 1.0}
    if broken(observed):
        return not_a_number(expected, observed)
    left, right = observed[LEFT], observed[RIGHT]
    if near(right - left, APART, TOLERANCE) and near((left + right) / 2, 0.0, OFFSET):
        return Judged(expected, observed)
    return Judged(
        expected,
        observed,
        _message(left, right),
        "the observation alone decides the reward, and WG901 has shown that a single value can be learned.",
        _advice(left, right),
    )


def _message(left: float, right: float) -> str:
    if near(left, right, 0.3):
        return f"the value estimate ignores the observation: {left:+.2f} on the left, {right:+.2f} on the right"
    return f"the value estimate has learned another reward: {left:+.2f} on the left, {right:+.2f} on the right"


def _advice(left: float, right: float) -> str:
    if near(left, right, 0.3):
        return (
            "compare the shapes of prediction and target, (N, 1) against (N,); then follow the observation: does it "
            "reach the value network, belong to the same sample, and survive normalisation?"
        )
    if right < left:
        return "check that each reward is stored with the observation that earned it"
    return "train longer (--steps) or with a larger learning rate; if that does not help, check the value loss"
