from stable_baselines3 import DQN

model = DQN(
    "MlpPolicy",
    "CartPole-v1",
    learning_starts=100,
    train_freq=4,
    target_update_interval=100,
    batch_size=32,
    policy_kwargs={"net_arch": [32, 32]},
    seed=0,
    device="cpu",
)
model.learn(1_500)
