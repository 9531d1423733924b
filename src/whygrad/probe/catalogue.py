"""The probes in the order in which they are asked, and what each takes for granted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from whygrad import verdicts
from whygrad.verdicts import wg904_policy_direction, wg905_policy_input
from whygrad.verdicts.judged import Judged


@dataclass(frozen=True)
class Probe:
    """One question to an agent."""

    name: str
    """Of the environment: `ConstantReward`."""
    code: str
    asks: str
    """What is read off the trained agent: values, rewards (of its choices), actions, or episodes."""
    judge: Callable[[dict[str, float], float], Judged]
    takes_for_granted: tuple[str, ...] = ()
    """Probes whose failure makes this one meaningless."""
    runs: tuple[dict[str, Any], ...] = field(default=({},))
    """Arguments of the environment, a fresh agent for each."""
    only_for: str = ""
    """continuous, recurrent or players: asked of such agents only."""

    @property
    def title(self) -> str:
        return verdicts.pages()[self.code].name


def _probe(name: str, code: str, asks: str, *granted: str, **more: Any) -> Probe:
    judge = more.pop("judge", None) or verdicts.pages()[code].module.judge
    return Probe(name, code, asks, judge, granted, **more)


PROBES = (
    _probe("ConstantReward", "WG901", "values"),
    _probe("ObservationReward", "WG902", "values", "ConstantReward"),
    _probe("DelayedReward", "WG903", "values", "ObservationReward"),
    _probe("ActionReward", "WG904", "rewards", "ObservationReward", runs=({"better": "low"}, {"better": "high"})),
    _probe(
        "ObservationActionReward",
        "WG905",
        "rewards",
        "ActionReward",
        runs=({"better": "straight"}, {"better": "crossed"}),
    ),
    _probe("Terminal", "WG906", "values", "ObservationReward"),
    _probe("Truncation", "WG907", "values", "DelayedReward", "Terminal"),
    _probe(
        "ContinuousAction",
        "WG908",
        "actions",
        "ActionReward",
        runs=({"mirrored": False}, {"mirrored": True}),
        only_for="continuous",
    ),
    _probe(
        "Memory",
        "WG905",
        "episodes",
        "ObservationActionReward",
        judge=wg905_policy_input.judge_memory,
        only_for="recurrent",
    ),
    _probe(
        "TwoAgents",
        "WG904",
        "rewards",
        "ObservationActionReward",
        judge=wg904_policy_direction.judge_two,
        only_for="players",
    ),
)


def chosen(only: list[str]) -> tuple[Probe, ...]:
    """The probes of these names or codes, in their own order."""
    wanted = {text.strip().lower() for text in only}
    known = {key for probe in PROBES for key in _keys(probe)}
    strange = sorted(wanted - known)
    if strange:
        names = ", ".join(probe.name for probe in PROBES)
        raise ValueError(f"there is no probe {strange[0]!r}; there are {names}, or their codes WG901 to WG908")
    return tuple(probe for probe in PROBES if not wanted or wanted & _keys(probe))


def _keys(probe: Probe) -> set[str]:
    return {probe.name.lower(), f"whygrad/{probe.name}-v0".lower(), probe.code.lower(), probe.title}
