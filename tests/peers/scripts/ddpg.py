import numpy as np
from stable_baselines3 import DDPG
from stable_baselines3.common.noise import NormalActionNoise

model = DDPG(
    "MlpPolicy",
    "Pendulum-v1",
    action_noise=NormalActionNoise(np.zeros(1), 0.1 * np.ones(1)),
    learning_starts=100,
    batch_size=32,
    policy_kwargs={"net_arch": [32, 32]},
    seed=0,
    device="cpu",
)
model.learn(400)
