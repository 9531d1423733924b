"""The policy ignores the observation.

The probe (ObservationActionReward): the observation is left or right at random, every episode lasts one step, the low
action earns +1 on the left and -1 on the right, the high action the opposite. It is asked again with a fresh agent and
the two sides exchanged (crossed), so that a policy which drifts anywhere does not pass by luck.

A failure after WG904 was passed means that the policy can learn an action and cannot learn when to take it:
observations that never reach the policy, come from another sample or another time, or a policy trunk that is not
trained.

Passed when the agent earns at least 0.5 per step everywhere. The memory probe (Memory) uses this code too: left or
right is shown at the first step only, and asked for at the third.
"""

from __future__ import annotations

from whygrad.verdicts import earning
from whygrad.verdicts.judged import Judged

CODE = "WG905"
NAME = "policy-input"


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    why = "the observation alone says which action is better, and WG904 has shown that one action can be learned."
    return earning.judged(observed, _message, why)


def judge_memory(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    why = "the cue is shown at the first step only; whoever does not carry it along can only guess at the third."
    return earning.judged(observed, _message_memory, why)


def _message(*rewards: float) -> tuple[str, str]:
    said = f"{earning.listed(rewards)} per step where +1.00 is there to be had"
    if earning.turned(rewards):
        return (
            f"the policy takes the worse action wherever it is: {said}",
            "check which observation each action and advantage belongs to: they are off by one, or crossed",
        )
    return (
        f"the policy ignores the observation: {said}",
        "follow the observation: does it reach the policy, is it the one that the action was taken for, and do the "
        "layers that see it get gradient?",
    )


def _message_memory(left: float, right: float) -> tuple[str, str]:
    return (
        f"the policy does not remember what it saw two steps ago: {left:+.2f} after left, {right:+.2f} after right, "
        "+1.00 is there to be had",
        "carry the recurrent state from step to step, reset it between episodes only, and train on sequences that "
        "contain the cue",
    )
