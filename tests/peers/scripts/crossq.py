from sb3_contrib import CrossQ

model = CrossQ(
    "MlpPolicy",
    "Pendulum-v1",
    learning_starts=100,
    batch_size=32,
    policy_kwargs={"net_arch": {"pi": [32, 32], "qf": [64, 64]}},
    seed=0,
    device="cpu",
)
model.learn(500)
