"""Tianshou's algorithms for tiny problems: it has no default networks, so they are built here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HIDDEN = (32, 32)
RATE = 5e-3


@dataclass(frozen=True)
class Recipe:
    """How an algorithm is made, and how it is trained for a thousand steps."""

    actions: str
    """discrete, continuous or both."""
    make: Callable[[str, Any, dict[str, Any]], Any]
    settings: dict[str, Any]
    """Of the algorithm."""
    training: dict[str, Any]
    """Of its trainer."""
    random: int = 0
    """Steps of random actions to begin with."""


def on_policy(name: str, env: Any, settings: dict[str, Any]) -> Any:
    """PPO and A2C, and Reinforce, which has no critic."""
    import tianshou.algorithm
    from tianshou.utils.net.continuous import ContinuousCritic

    if name != "Reinforce":
        settings = {**settings, "critic": ContinuousCritic(preprocess_net=_net(env))}
    algorithm = getattr(tianshou.algorithm, name)
    return algorithm(policy=_stochastic(env), optim=_adam(), **settings)


def q_learning(name: str, env: Any, settings: dict[str, Any]) -> Any:
    import tianshou.algorithm
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy

    policy = DiscreteQLearningPolicy(model=_net(env, outputs=env.action_space.n), **_spaces(env), eps_training=0.3)
    return getattr(tianshou.algorithm, name)(policy=policy, optim=_adam(), **settings)


def deterministic(name: str, env: Any, settings: dict[str, Any]) -> Any:
    """DDPG and TD3, which explore by noise."""
    from tianshou.algorithm.modelfree.ddpg import ContinuousDeterministicPolicy
    from tianshou.exploration import GaussianNoise
    from tianshou.utils.net.continuous import ContinuousActorDeterministic

    actor = ContinuousActorDeterministic(preprocess_net=_net(env), action_shape=env.action_space.shape)
    policy = ContinuousDeterministicPolicy(actor=actor, exploration_noise=GaussianNoise(sigma=0.3), **_spaces(env))
    return _with_critics(name, policy, _critics(env, 1 if name == "DDPG" else 2), settings)


def soft(name: str, env: Any, settings: dict[str, Any]) -> Any:
    from tianshou.algorithm.modelfree.sac import SACPolicy
    from tianshou.utils.net.continuous import ContinuousActorProbabilistic

    actor = ContinuousActorProbabilistic(
        preprocess_net=_net(env), action_shape=env.action_space.shape, unbounded=True, conditioned_sigma=True
    )
    return _with_critics(name, SACPolicy(actor=actor, **_spaces(env)), _critics(env, 2), settings)


def soft_discrete(name: str, env: Any, settings: dict[str, Any]) -> Any:
    from tianshou.algorithm.modelfree.discrete_sac import DiscreteSACPolicy
    from tianshou.utils.net.discrete import DiscreteCritic

    policy = DiscreteSACPolicy(actor=_discrete_actor(env), **_spaces(env))
    critics = [DiscreteCritic(preprocess_net=_net(env), last_size=int(env.action_space.n)) for _ in range(2)]
    return _with_critics(name, policy, critics, settings)


GRADIENT = {"tau": 0.1}
REPLAY = {"collection_step_num_env_steps": 4, "update_step_num_gradient_steps_per_sample": 0.5, "batch_size": 64}
ROLLOUT = {"collection_step_num_env_steps": 64, "update_step_num_repetitions": 8, "batch_size": 64}
ONCE = {"collection_step_num_env_steps": 32, "update_step_num_repetitions": 1, "batch_size": None}
RECIPES: dict[str, Recipe] = {
    "A2C": Recipe("both", on_policy, {"ent_coef": 0.0}, {**ONCE, "collection_step_num_env_steps": 10}),
    "DDPG": Recipe("continuous", deterministic, GRADIENT, REPLAY, 50),
    "DQN": Recipe("discrete", q_learning, {"target_update_freq": 20}, REPLAY, 50),
    "DiscreteSAC": Recipe("discrete", soft_discrete, {**GRADIENT, "alpha": 0.01}, REPLAY, 50),
    "PPO": Recipe("both", on_policy, {"ent_coef": 0.0}, ROLLOUT),
    "Reinforce": Recipe("both", on_policy, {"return_standardization": True}, ONCE),
    "SAC": Recipe("continuous", soft, {**GRADIENT, "alpha": 0.01}, REPLAY, 50),
    "TD3": Recipe("continuous", deterministic, GRADIENT, REPLAY, 50),
}
"""SAC's temperature is small, because the bonus for entropy is part of its values."""


def _adam() -> Any:
    from tianshou.algorithm.optim import AdamOptimizerFactory

    return AdamOptimizerFactory(lr=RATE)


def _spaces(env: Any) -> dict[str, Any]:
    return {"action_space": env.action_space, "observation_space": env.observation_space}


def _net(env: Any, outputs: int = 0, joined: int = 0) -> Any:
    """Two hidden layers over the observation, and over an action beside it where there is one."""
    from tianshou.utils.net.common import Net

    shape = env.observation_space.shape
    return Net(state_shape=shape, action_shape=outputs or joined, hidden_sizes=HIDDEN, concat=bool(joined))


def _discrete_actor(env: Any) -> Any:
    from tianshou.utils.net.discrete import DiscreteActor

    return DiscreteActor(preprocess_net=_net(env), action_shape=env.action_space.n, softmax_output=False)


def _stochastic(env: Any) -> Any:
    """A policy that draws its actions while it learns, and takes the likeliest when it is asked."""
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy, ProbabilisticActorPolicy
    from tianshou.utils.net.continuous import ContinuousActorProbabilistic
    from torch.distributions import Independent, Normal
    from torch.nn import init

    if hasattr(env.action_space, "n"):
        return DiscreteActorPolicy(actor=_discrete_actor(env), deterministic_eval=True, **_spaces(env))
    actor = ContinuousActorProbabilistic(preprocess_net=_net(env), action_shape=env.action_space.shape, unbounded=True)
    init.constant_(actor.sigma_param, -1.0)  # A deviation of 1 is as wide as the bounds, and is cut off there.
    return ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda mean_and_width: Independent(Normal(*mean_and_width), 1),
        deterministic_eval=True,
        **_spaces(env),
    )


def _critics(env: Any, count: int) -> list[Any]:
    from tianshou.utils.net.continuous import ContinuousCritic

    size = int(env.action_space.shape[0])
    return [ContinuousCritic(preprocess_net=_net(env, joined=size)) for _ in range(count)]


def _with_critics(name: str, policy: Any, critics: list[Any], settings: dict[str, Any]) -> Any:
    import tianshou.algorithm

    named = {f"critic{'' if number == 1 else number}": critic for number, critic in enumerate(critics, 1)}
    named |= {f"{one}_optim": _adam() for one in list(named)}
    return getattr(tianshou.algorithm, name)(policy=policy, policy_optim=_adam(), **named, **settings)
