from sb3_contrib import QRDQN

model = QRDQN(
    "MlpPolicy",
    "CartPole-v1",
    learning_starts=100,
    train_freq=4,
    target_update_interval=100,
    batch_size=32,
    policy_kwargs={"net_arch": [32, 32], "n_quantiles": 10},
    seed=0,
    device="cpu",
)
model.learn(1_500)
