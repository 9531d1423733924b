"""Modules with `train(env, *, steps, seed, ...) -> result`, as in `whygrad.agents`: `whygrad probe whygrad.agents.ppo`.

The result has a policy with `act(observation)` and, where there is one, `value(observation)`.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

from whygrad.probe.protocol import Factory, ProtocolError

SMALL = {"hidden": (32, 32), "learning_rate": 5e-3}
ON_POLICY = {**SMALL, "envs": 1, "log_std": -1.0}
REPLAY = {**SMALL, "learning_starts": 50, "train_every": 2, "batch": 64}
SETTINGS: dict[str, dict[str, Any]] = {
    "a2c": {**ON_POLICY, "rollout": 10},
    "dqn": {**REPLAY, "target_every": 20},
    "ppo": {**ON_POLICY, "rollout": 50, "minibatch": 50, "epochs": 8},
    "reinforce": {**ON_POLICY, "episodes": 8},
    "sac": {**REPLAY, "tau": 0.05, "temperature": 0.01, "learn_temperature": False},
}
"""For problems of a few states and a thousand steps; the defaults are made for many more."""


def factory(module: ModuleType) -> Factory:
    """`make_agent` for such a module."""
    name = module.__name__.rpartition(".")[2]

    def make_agent(env: Any, gamma: float, seed: int) -> Adapted:
        return Adapted(module, env, {**_known(module, SETTINGS.get(name, {})), "gamma": gamma, "seed": seed})

    make_agent.__name__ = module.__name__
    if name == "dqn":
        make_agent.actions = "discrete"  # type: ignore[attr-defined]
    return make_agent


def _known(module: ModuleType, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that this module has."""
    config = getattr(module, "Config", None)
    names = {field.name for field in dataclasses.fields(config)} if dataclasses.is_dataclass(config) else set(settings)
    return {name: value for name, value in settings.items() if name in names}


class Adapted:
    """Trains in one call; only then is there a policy to ask."""

    def __init__(self, module: ModuleType, env: Any, settings: dict[str, Any]) -> None:
        self._module, self._env, self._settings = module, env, settings
        self.gamma = settings["gamma"]
        self._policy: Any = None

    def train(self, steps: int) -> None:
        result = self._module.train(self._env.spec.make, steps=steps, **self._settings)
        self._policy = getattr(result, "policy", None)
        if not callable(getattr(self._policy, "act", None)):
            raise ProtocolError(
                f"{self._module.__name__}.train() returned {type(result).__name__} without a policy that can act()"
            )

    def act(self, observation: Any) -> Any:
        return self._policy.act(observation)

    def value(self, observation: Any) -> Any:
        """None where the policy has no values."""
        value = getattr(self._policy, "value", None)
        return value(observation) if callable(value) else None
