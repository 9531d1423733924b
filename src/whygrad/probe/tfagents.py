"""The probes for TF-Agents: a gymnasium environment as a `PyEnvironment`.

    from whygrad.probe.tfagents import py_environment

    env = py_environment("ActionReward", better="low")    # a probe by its name
    env = py_environment(env)                             # what `make_agent(env, gamma, seed)` is given

TF-Agents' own wrapper takes environments of the old gym only, whose `done` may be an end or a time limit.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from whygrad.probe.registration import identity

try:
    from tf_agents.environments.py_environment import PyEnvironment
    from tf_agents.specs import array_spec
    from tf_agents.trajectories import time_step
except ModuleNotFoundError as error:
    raise ImportError(f"whygrad.probe.tfagents needs TF-Agents: pip install tf-agents ({error})") from error


def py_environment(env: gymnasium.Env[Any, Any] | str, **options: Any) -> PyEnvironment:
    """A probe by its name, with the options of its environment; or any gymnasium environment of one array."""
    if isinstance(env, str):
        env = gymnasium.make(identity(env), disable_env_checker=True, **options)
    elif options:
        raise ValueError("options are for an environment that is made here; this one is made already")
    return Played(env)


class Played(PyEnvironment):  # type: ignore[misc]
    """An end has a discount of 0, a time limit one of 1: what follows a time limit is still worth something."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(handle_auto_reset=True)
        self.env = env
        self._observed = _spec(env.observation_space, "observation")
        self._acted = _spec(env.action_space, "action")

    def observation_spec(self) -> Any:
        return self._observed

    def action_spec(self) -> Any:
        return self._acted

    def _reset(self) -> Any:
        observation, _ = self.env.reset()
        return time_step.restart(observation)

    def _step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        reward = np.float32(reward)
        if terminated:
            return time_step.termination(observation, reward)
        if truncated:
            return time_step.truncation(observation, reward)
        return time_step.transition(observation, reward)


def _spec(space: gymnasium.Space[Any], name: str) -> Any:
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return array_spec.BoundedArraySpec((), np.int64, first, first + int(space.n) - 1, name)
    if isinstance(space, spaces.Box):
        return array_spec.BoundedArraySpec(space.shape, space.dtype, space.low, space.high, name)
    raise ValueError(f"the {name} space {space} is neither one array nor one choice")
