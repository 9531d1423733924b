"""Tianshou 2: `whygrad probe tianshou:PPO`."""

from __future__ import annotations

import importlib
from typing import Any

from whygrad.probe.adapters.tianshou_algorithms import RECIPES
from whygrad.probe.protocol import Factory, ProtocolError


def factory(name: str) -> Factory:
    """`make_agent` for an algorithm of this name."""
    _installed(name)
    recipe = RECIPES.get(name)
    if recipe is None:
        raise ProtocolError(f"tianshou:{name} is not among the algorithms that are set up here: {', '.join(RECIPES)}")

    def make_agent(env: Any, gamma: float) -> Adapted:
        if len(env.observation_space.shape) != 1:
            raise ProtocolError("Tianshou's networks are built for vectors here; for images write make_agent(env)")
        algorithm = recipe.make(name, env, {**recipe.settings, "gamma": gamma})
        return Adapted(algorithm, env, gamma, recipe.training, recipe.random)

    make_agent.__name__ = f"tianshou:{name}"
    make_agent.actions = recipe.actions  # type: ignore[attr-defined]
    return make_agent


def _installed(name: str) -> None:
    try:
        importlib.import_module("tianshou")
        importlib.import_module("tianshou.algorithm")
    except ModuleNotFoundError as error:
        raise ProtocolError(
            f"tianshou:{name} needs Tianshou 2 or newer: pip install 'tianshou>=2' ({error})"
        ) from error


class Adapted:
    """An algorithm of Tianshou as the protocol wants it; `training` are fields of its trainer's parameters."""

    def __init__(self, algorithm: Any, env: Any, gamma: float, training: dict[str, Any], random: int = 0) -> None:
        self.algorithm, self.gamma = algorithm, gamma
        self._env, self._training, self._random = env, training, random

    def train(self, steps: int) -> None:
        from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm
        from tianshou.data import Collector, VectorReplayBuffer
        from tianshou.env import DummyVectorEnv
        from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams

        envs = DummyVectorEnv([lambda: self._env])
        collector = Collector(self.algorithm, envs, VectorReplayBuffer(max(steps, 2), 1), exploration_noise=True)
        collector.reset()
        if self._random:
            collector.collect(n_step=min(self._random, steps), random=True)
        parameters = OnPolicyTrainerParams if isinstance(self.algorithm, OnPolicyAlgorithm) else OffPolicyTrainerParams
        self.algorithm.run_training(
            parameters(
                training_collector=collector,
                max_epochs=1,
                epoch_num_steps=max(steps - self._random, 1),
                verbose=False,
                show_progress=False,
                **self._training,
            )
        )

    def act(self, observation: Any) -> Any:
        return self.algorithm.policy.compute_action(observation)

    def value(self, observation: Any) -> float | None:
        """Of a value head, of the best action, or of the action that the policy takes; None where nothing says it."""
        import torch
        from tianshou.algorithm.algorithm_base import OnPolicyAlgorithm
        from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
        from tianshou.data import Batch

        algorithm, policy = self.algorithm, self.algorithm.policy
        asked = Batch(obs=observation[None], info=Batch())
        critics = [getattr(algorithm, name) for name in ("critic", "critic2") if hasattr(algorithm, name)]
        with torch.no_grad():
            if isinstance(policy, DiscreteQLearningPolicy):
                return float(policy(asked).logits.max())
            if isinstance(algorithm, OnPolicyAlgorithm):
                return float(critics[0](asked.obs)) if critics else None
            action = policy(asked).act
            return min(_judged(critic, asked.obs, action) for critic in critics)


def _judged(critic: Any, observation: Any, action: Any) -> float:
    """By a critic that takes the action, or that gives a number for each."""
    from tianshou.utils.net.discrete import DiscreteCritic

    if isinstance(critic, DiscreteCritic):
        return float(critic(observation)[0, int(action)])
    return float(critic(observation, action))
