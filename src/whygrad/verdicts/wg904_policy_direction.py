"""The policy does not move towards the better action.

The probe (ActionReward): one state, every episode lasts one step, one action earns +1 and the other -1. It is asked
twice with a fresh agent, once for each action being the better one, so that a policy which does not learn cannot pass
by luck. With continuous actions the reward is the action itself, or its negative.

A failure means that the policy moves the wrong way (the sign of its loss or of the advantage) or not at all (no
gradient, no optimizer, an advantage that is always 0, stored actions that are not the ones taken).

Passed when the agent earns at least 0.5 per step both times. The two-agent probe (TwoAgents) uses this code too: two
players move in turn, and the better action of one is the worse one of the other.
"""

from __future__ import annotations

from whygrad.verdicts import earning
from whygrad.verdicts.judged import Judged

CODE = "WG904"
NAME = "policy-direction"


def judge(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    why = "one state and two actions: nothing but the policy's own update takes part."
    return earning.judged(observed, _message, why)


def judge_two(observed: dict[str, float], gamma: float) -> Judged:  # noqa: ARG001
    why = "the observation says whose turn it is, and each player's move is rewarded at once."
    return earning.judged(observed, _message_two, why)


def _message(*rewards: float) -> tuple[str, str]:
    said = f"{earning.listed(rewards)} per step where +1.00 is there to be had"
    if earning.turned(rewards):
        return (
            f"the policy moves away from the better action: {said}",
            "turn the sign of the policy loss or of the advantage: gradient descent lowers what it is given",
        )
    return (
        f"the policy does not move towards the better action: {said}",
        "check that the policy's parameters are in an optimizer that steps, that its loss has a graph and weights that "
        "are not all 0, and that the stored actions are the ones that were taken",
    )


def _message_two(first: float, second: float) -> tuple[str, str]:
    return (
        f"two players in turn: the first earns {first:+.2f} and the second {second:+.2f} where each can have +1.00",
        "give each player's move its own reward, and let the policy see whose turn it is",
    )
