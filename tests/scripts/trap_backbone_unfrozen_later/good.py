# Actor-critic on top of a pretrained encoder. The encoder is frozen while the new heads settle, then unfrozen.
# The optimizer has held all parameters since the beginning.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
UNFREEZE_AT, UPDATES = 15, 40


class Sorting:
    """Objects with 8 noisy measurements of 2 hidden properties, to be put into one of 4 bins."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mixing = self.rng.normal(size=(2, 8))

    def batch(self, n):
        hidden = self.rng.normal(size=(n, 2))
        obs = np.tanh(hidden @ self.mixing) + 0.1 * self.rng.normal(size=(n, 8))
        label, worth = 2 * (hidden[:, 0] > 0) + (hidden[:, 1] > 0), 1 + 0.8 * np.tanh(hidden[:, 0])
        return torch.tensor(obs, dtype=torch.float32), label, worth

    @staticmethod
    def reward(label, worth, action):
        same_row, same_col = label // 2 == action // 2, label % 2 == action % 2
        return torch.tensor(worth * (0.5 * same_row + 0.5 * same_col), dtype=torch.float32)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())

    def forward(self, x):
        return self.enc(x)


def pretrain(backbone, env, steps=20):
    decoder = nn.Linear(16, 8)
    opt = torch.optim.Adam([*backbone.parameters(), *decoder.parameters()], lr=5e-3)
    for _ in range(steps):
        x, _, _ = env.batch(64)
        loss = F.mse_loss(decoder(backbone(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pretraining error {loss.item():.3f}")
    return backbone


class Agent(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.actor, self.critic = nn.Linear(16, 4), nn.Linear(16, 1)

    def forward(self, x):
        z = self.backbone(x)
        return torch.distributions.Categorical(logits=self.actor(z)), self.critic(z).squeeze(-1)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


torch.manual_seed(0)
env = Sorting(0)
agent = Agent(pretrain(Backbone(), env))
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-2)
set_trainable(agent.backbone, False)

for update in range(UPDATES):
    if update == UNFREEZE_AT:
        set_trainable(agent.backbone, True)
        for group in optimizer.param_groups:
            group["lr"] = 4e-3
    x, label, worth = env.batch(64)
    dist, value = agent(x)
    action = dist.sample()
    reward = env.reward(label, worth, action.numpy())
    advantage = reward - value
    policy_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 5 == 0:
        trainable = sum(p.requires_grad for p in agent.parameters())
        print(f"update {update} reward {reward.mean():.3f} value loss {value_loss.item():.3f} trainable tensors {trainable}")
