from stable_baselines3 import PPO

model = PPO(
    "MlpPolicy",
    "Pendulum-v1",
    n_steps=128,
    batch_size=32,
    n_epochs=4,
    ent_coef=0.01,
    policy_kwargs={"net_arch": {"pi": [32], "vf": [32]}},
    seed=0,
    device="cpu",
)
model.learn(1_024)
