import torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor


class Trunk(BaseFeaturesExtractor):
    def __init__(self, observation_space):
        super().__init__(observation_space, features_dim=32)
        self.layers = torch.nn.Sequential(torch.nn.Linear(observation_space.shape[0], 32), torch.nn.ReLU())

    def forward(self, observations):
        return self.layers(observations)


model = PPO(
    "MlpPolicy",
    "CartPole-v1",
    n_steps=128,
    batch_size=32,
    n_epochs=4,
    ent_coef=0.01,
    policy_kwargs={"features_extractor_class": Trunk, "net_arch": {"pi": [16], "vf": [16]}},
    seed=0,
    device="cpu",
)
model.learn(1_024)
