"""A broken agent is cured when whygrad finds nothing and a probe is learnt.

The probe's numbers are taken in the learner's process; what they mean is decided here, outside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from whygrad import verdicts
from whygrad.learn.judging import Seen

GAMMA = 0.6


def ask(draw: Any) -> dict[str, Any]:
    return {"seed": draw.whole(0, 10_000)}


def observed(code: Any, asked: dict[str, Any], *wanted: str, steps: int = 640) -> dict[str, Any]:
    """Train the learner's `Agent` in these probes; what it answers in each, by code. Errors are left to fly: the line
    that they come from is worth more than a verdict."""
    import gymnasium

    from whygrad.learn.attempt import sow
    from whygrad.probe.catalogue import PROBES
    from whygrad.probe.environments.environment import ProbeEnv
    from whygrad.probe.reading import READERS
    from whygrad.probe.registration import identity

    out: dict[str, Any] = {name: {} for name in wanted}
    continuous = code.Agent.actions == "continuous"
    for probe in PROBES:
        if probe.code not in wanted or probe.only_for not in ("", code.Agent.actions):
            continue
        for arguments in probe.runs:
            env = gymnasium.make(identity(probe.name), disable_env_checker=True, continuous=continuous, **arguments)
            sow(asked["seed"])
            agent = code.Agent(env, GAMMA, asked["seed"])
            agent.train(steps)
            out[probe.code] |= READERS[probe.asks](agent, cast(ProbeEnv, env.unwrapped))
    return out


def judge(asked: dict[str, Any], seen: Seen) -> Iterator[str]:  # noqa: ARG001
    """The engine's findings first, then what the probes say."""
    yield from seen.engine()
    for code, numbers in seen.items():
        judged = verdicts.pages()[code].module.judge(numbers, GAMMA)
        if not judged.passed:
            yield f"{_trained(seen)}{judged.message}. {judged.fix}"
    if not seen.updates:
        yield "the answers are right, but nothing was trained: no optimizer step was seen"


def _trained(seen: Seen) -> str:
    return "" if seen.updates else "no optimizer step was seen, and "
