from stable_baselines3 import A2C

model = A2C(
    "MlpPolicy",
    "CartPole-v1",
    n_steps=8,
    ent_coef=0.01,
    policy_kwargs={"net_arch": {"pi": [32], "vf": [32]}},
    seed=0,
    device="cpu",
)
model.learn(1_200)
