"""The value estimate does not depend on the observation as it should.

The probe (ObservationReward): the observation is left or right at random, every episode lasts one step, the reward is
-1 on the left and +1 on the right. So V(left) = -1 and V(right) = +1.

A failure after WG901 was passed means that a constant can be learned and a difference cannot: predictions `(N, 1)`
against targets `(N,)` (every prediction is then pulled to the mean of all targets), observations that never reach the
network, are normalised away or belong to other samples, or gradient that stops before the layers that see them.

Passed when both values lie within 0.4. What follows the end of an episode is left or right with equal chance, so that
a missing terminal mask (WG906) does not disturb this probe.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG902"
NAME = "value-input"
TOLERANCE = 0.4
LEFT, RIGHT = "V(left)", "V(right)"


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    expected = {LEFT: -1.0, RIGHT: 1.0}
    if broken(observed):
        return not_a_number(expected, observed)
    if all(near(observed[name], wanted, TOLERANCE) for name, wanted in expected.items()):
        return Judged(expected, observed)
    return Judged(
        expected,
        observed,
        _message(observed[LEFT], observed[RIGHT]),
        "the observation alone decides the reward, and WG901 has shown that a single value can be learned.",
        _advice(observed[LEFT], observed[RIGHT]),
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
