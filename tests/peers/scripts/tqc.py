from sb3_contrib import TQC

model = TQC(
    "MlpPolicy",
    "Pendulum-v1",
    learning_starts=100,
    batch_size=32,
    top_quantiles_to_drop_per_net=2,
    policy_kwargs={"net_arch": [32, 32], "n_quantiles": 10, "n_critics": 2},
    seed=0,
    device="cpu",
)
model.learn(400)
