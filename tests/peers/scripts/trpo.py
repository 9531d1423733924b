from sb3_contrib import TRPO

model = TRPO(
    "MlpPolicy",
    "CartPole-v1",
    n_steps=128,
    batch_size=64,
    n_critic_updates=5,
    cg_max_steps=5,
    policy_kwargs={"net_arch": {"pi": [32], "vf": [32]}},
    seed=0,
    device="cpu",
)
model.learn(1_280)
