"""Stable-Baselines3 and sb3-contrib: `whygrad probe sb3:PPO`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from whygrad.probe.protocol import Factory, ProtocolError

REPLAY = {"learning_rate": 5e-3, "learning_starts": 50, "buffer_size": 5000, "batch_size": 64, "train_freq": 4}
GRADIENT = {**REPLAY, "learning_rate": 3e-3, "train_freq": 2, "tau": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {
    "A2C": {"learning_rate": 5e-3, "n_steps": 10},
    "DDPG": GRADIENT,
    "DQN": {**REPLAY, "target_update_interval": 40},
    "PPO": {"learning_rate": 5e-3, "n_steps": 64, "batch_size": 64, "n_epochs": 8},
    "RecurrentPPO": {"learning_rate": 5e-3, "n_steps": 96, "batch_size": 96, "n_epochs": 8},
    "SAC": {**REPLAY, "tau": 0.1, "ent_coef": 0.01},
    "TD3": GRADIENT,
}
"""For problems of a few states and a thousand steps; the defaults are made for millions. SAC's temperature is small,
because the bonus for entropy is part of its values."""
WIDTH = {"A2C": -1.0, "PPO": -0.5, "RecurrentPPO": -0.5}
"""Logarithm of the deviation that a continuous policy begins with: 1 is as wide as the bounds, and is cut off there."""
NOISY = ("DDPG", "TD3")
"""Deterministic policies explore by noise that is given to them."""


def factory(name: str) -> Factory:
    """`make_agent` for an algorithm of this name."""
    algorithm = _algorithm(name)

    def make_agent(env: Any, gamma: float, seed: int) -> Adapted:
        settings = dict(SETTINGS.get(name, {}))
        if name in NOISY:
            from stable_baselines3.common.noise import NormalActionNoise

            size = env.action_space.shape
            settings["action_noise"] = NormalActionNoise(np.zeros(size), np.full(size, 0.3))
        kind = "CnnPolicy" if len(env.observation_space.shape) == 3 else "MlpPolicy"
        if name == "RecurrentPPO":
            kind = kind.replace("Policy", "LstmPolicy")
        network: dict[str, Any] = {"net_arch": [32, 32]} if kind.startswith("Mlp") else {}
        if name in WIDTH:
            network["log_std_init"] = WIDTH[name]
        model = algorithm(kind, env, gamma=gamma, seed=seed, device="cpu", policy_kwargs=network, **settings)
        return Adapted(model, gamma)

    make_agent.__name__ = f"sb3:{name}"
    return make_agent


def _algorithm(name: str) -> Any:
    for package in ("stable_baselines3", "sb3_contrib"):
        try:
            found = getattr(importlib.import_module(package), name, None)
        except ModuleNotFoundError as error:
            if package == "stable_baselines3":
                raise ProtocolError(
                    f"sb3:{name} needs Stable-Baselines3: pip install stable-baselines3 ({error})"
                ) from error
            continue
        if isinstance(found, type):
            return found
    raise ProtocolError(f"neither Stable-Baselines3 nor sb3-contrib has an algorithm {name!r}")


class Adapted:
    """A model of Stable-Baselines3 as the protocol wants it."""

    def __init__(self, model: Any, gamma: float) -> None:
        self.model = model
        self.gamma = gamma
        self.recurrent = hasattr(model.policy, "lstm_actor")
        self._memory: Any = None

    def train(self, steps: int) -> None:
        self.model.learn(steps)

    def reset(self) -> None:
        self._memory = None

    def act(self, observation: Any) -> Any:
        first = np.array([self._memory is None])
        action, self._memory = self.model.predict(
            observation, state=self._memory, episode_start=first, deterministic=True
        )
        return action

    def value(self, observation: Any) -> float:
        import torch

        policy = self.model.policy
        policy.set_training_mode(False)
        with torch.no_grad():
            seen, _ = policy.obs_to_tensor(observation)
            return _value(policy, seen, self.recurrent)


def _value(policy: Any, seen: Any, recurrent: bool) -> float:
    """Of a value head, of the best action, or of the action that the policy takes."""
    import torch

    if recurrent:
        state = torch.zeros(policy.lstm_hidden_state_shape[0], 1, policy.lstm_hidden_state_shape[2])
        return float(policy.predict_values(seen, (state, state), torch.ones(1)))
    if hasattr(policy, "predict_values"):
        return float(policy.predict_values(seen))
    if hasattr(policy, "q_net"):
        return float(policy.q_net(seen).max())
    if hasattr(policy, "quantile_net"):
        return float(policy.quantile_net(seen).mean(dim=1).max())
    answers = policy.critic(seen, policy._predict(seen, deterministic=True))
    return float(answers.mean()) if isinstance(answers, torch.Tensor) else min(float(answer) for answer in answers)
