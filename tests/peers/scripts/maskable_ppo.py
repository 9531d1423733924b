import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker


def may_push(env: gym.Env) -> np.ndarray:
    """Near the edge of the track, only pushes towards its middle."""
    x = env.unwrapped.state[0] if env.unwrapped.state is not None else 0.0
    return np.array([x > -0.2, x < 0.2])


model = MaskablePPO(
    "MlpPolicy",
    ActionMasker(gym.make("CartPole-v1"), may_push),
    n_steps=128,
    batch_size=32,
    n_epochs=4,
    ent_coef=0.01,
    policy_kwargs={"net_arch": {"pi": [32], "vf": [32]}},
    seed=0,
    device="cpu",
)
model.learn(1_024)
