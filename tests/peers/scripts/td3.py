from stable_baselines3 import TD3

model = TD3(
    "MlpPolicy",
    "Pendulum-v1",
    learning_starts=100,
    batch_size=32,
    policy_kwargs={"net_arch": [32, 32]},
    seed=0,
    device="cpu",
)
model.learn(500)
