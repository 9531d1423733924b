"""The value estimate does not find a constant reward.

The probe (ConstantReward): one state, every episode lasts one step, the reward is always 2. So V = 2, and there is
nothing to see, to choose or to wait for: only the value head, its loss and its optimizer take part.

A failure means that the value head is not trained (not in the optimizer, a loss without graph, a weight of 0), is
trained towards something else (a sign, a reward that never arrives), or cannot say 2 (a bounded activation on the
output).

Passed when V lies within 0.4 of 2. A higher V, up to 2 / (1 - gamma), passes too, with a remark: it comes from
bootstrapping past the end of the episode, which is asked by WG906.
"""

from __future__ import annotations

from whygrad.verdicts.judged import Judged, broken, near, not_a_number

CODE = "WG901"
NAME = "value-fit"
REWARD = 2.0
TOLERANCE = 0.4
STATE = "V(only)"


def judge(observed: dict[str, float], gamma: float) -> Judged:
    expected = {STATE: REWARD}
    if broken(observed):
        return not_a_number(expected, observed)
    value = observed[STATE]
    if near(value, REWARD, TOLERANCE):
        return Judged(expected, observed)
    if REWARD < value <= _past_the_end(gamma):
        remark = "above the reward, as if values went on past the end of the episode; WG906 asks that"
        return Judged(expected, observed, remark=remark)
    return Judged(
        expected,
        observed,
        f"the value estimate does not find a constant reward: {value:+.2f} instead of {REWARD:+.2f}",
        "one state, one step, always the same reward: whatever is trained at all finds it.",
        _advice(value),
    )


def _past_the_end(gamma: float) -> float:
    """Where a value ends up that bootstraps for ever, with room for estimates above it."""
    return 1.2 * REWARD / max(1.0 - gamma, 0.002)


def _advice(value: float) -> str:
    if value <= -TOLERANCE:
        return "check the signs: of the value loss, and of the reward on its way into the target"
    if near(value, 1.0, 0.1):
        return "take the bounded activation (tanh, sigmoid) or the reward clipping away: values never pass 1"
    if value < REWARD:
        return (
            "check that the value head's parameters are in an optimizer that steps, that its loss has a graph and a "
            "weight above 0, that the reward reaches the target, and that the learning rate is not too small"
        )
    return "check the target: it is larger than any discounted sum of these rewards"
