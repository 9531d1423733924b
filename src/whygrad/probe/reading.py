"""Reading the answer off a trained agent: its values, what its choices earn, where its actions lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.probe.environments.environment import ChoiceEnv, ProbeEnv
from whygrad.probe.protocol import Agent, ProtocolError

ACTS = 20
"""Times that a choice is asked for: a policy may draw its actions."""
EPISODES = 40


class NoValueError(Exception):
    """It turned out after the training that the agent has no value function."""


def values(agent: Agent, env: ProbeEnv) -> dict[str, float]:
    return {f"V({state})": _value(agent, env.shown(state)) for state in env.states}


def rewards(agent: Agent, env: ProbeEnv) -> dict[str, float]:
    """What the agent's choice earns in each state, on average."""
    assert isinstance(env, ChoiceEnv)
    chosen = _pushes(agent, env)
    return {
        f"reward({state})": float(np.mean([env.worth(state, push) for push in pushes]))
        for state, pushes in chosen.items()
    }


def actions(agent: Agent, env: ProbeEnv) -> dict[str, float]:
    """The mean action in each state, number by number."""
    means = {state: np.mean(pushes, axis=0) for state, pushes in _pushes(agent, env).items()}
    return {f"{state}[{index}]": float(number) for state, mean in means.items() for index, number in enumerate(mean)}


def episodes(agent: Agent, env: ProbeEnv) -> dict[str, float]:
    """What whole episodes earn, by the state they began in."""
    earned: dict[str, list[float]] = {}
    for number in range(EPISODES):
        _forget(agent)
        observation, _ = env.reset(seed=number)
        begun, total, ended = env.state, 0.0, False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(agent.act(observation))
            total, ended = total + reward, terminated or truncated
        earned.setdefault(begun, []).append(total)
    return {f"reward({state})": float(np.mean(earned[state])) for state in sorted(earned)}


READERS: dict[str, Callable[[Agent, ProbeEnv], dict[str, float]]] = {
    "values": values,
    "rewards": rewards,
    "actions": actions,
    "episodes": episodes,
}


def _pushes(agent: Agent, env: ProbeEnv) -> dict[str, list[Any]]:
    """State after state and not one state at a time: what an agent keeps from the last question must show."""
    out: dict[str, list[Any]] = {state: [] for state in env.states}
    for _ in range(ACTS):
        for state, pushes in out.items():
            _forget(agent)
            pushes.append(env.push(agent.act(env.shown(state))))
    return out


def _value(agent: Agent, observation: Any) -> float:
    _forget(agent)
    answer = agent.value(observation)  # type: ignore[attr-defined]
    if answer is None:
        raise NoValueError
    try:
        return float(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ProtocolError(f"agent.value(observation) must return one number, not {answer!r}") from error


def _forget(agent: Agent) -> None:
    reset = getattr(agent, "reset", None)
    if callable(reset):
        reset()
