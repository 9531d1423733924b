import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)
torch.manual_seed(0)


def tie_weights(src, trg):
    assert type(src) == type(trg)
    trg.weight = src.weight
    trg.bias = src.bias


class Encoder(nn.Module):
    def __init__(self, feature_dim=16):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 8, 3, stride=2), nn.Conv2d(8, 8, 3, stride=1)])
        self.head = nn.Sequential(nn.Linear(8 * 3 * 3, feature_dim), nn.LayerNorm(feature_dim))

    def forward(self, obs, detach=False):
        h = obs
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.flatten(1)
        if detach:
            h = h.detach()
        return torch.tanh(self.head(h))

    def copy_conv_weights_from(self, source):
        for mine, theirs in zip(self.convs, source.convs):
            tie_weights(src=theirs, trg=mine)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, obs):
        mu, log_std = self.trunk(self.encoder(obs, detach=True)).chunk(2, dim=-1)
        log_std = -3 + 0.5 * 4 * (torch.tanh(log_std) + 1)
        dist = Normal(mu, log_std.exp())
        u = dist.rsample()
        a = torch.tanh(u)
        logp = dist.log_prob(u) - 2 * (0.6931471805599453 - u - F.softplus(-2 * u))
        return a, logp.sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.Q1 = nn.Sequential(nn.Linear(18, 48), nn.ReLU(), nn.Linear(48, 1))
        self.Q2 = nn.Sequential(nn.Linear(18, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, obs, action, detach_encoder=False):
        x = torch.cat([self.encoder(obs, detach=detach_encoder), action], -1)
        return self.Q1(x), self.Q2(x)


def shift(img, pad=1):
    n, _, h, w = img.shape
    padded = F.pad(img, (pad,) * 4, mode="replicate")
    dy, dx = torch.randint(0, 2 * pad + 1, (2,)).tolist()
    return padded[:, :, dy:dy + h, dx:dx + w]


def render(pos):
    grid = torch.linspace(-1, 1, 11)
    gy = torch.exp(-((grid[None] - pos[:, :1]) ** 2) / 0.08)
    gx = torch.exp(-((grid[None] - pos[:, 1:]) ** 2) / 0.08)
    return (gy[:, :, None] * gx[:, None, :])[:, None]


actor, critic = Actor(), Critic()
actor.encoder.copy_conv_weights_from(critic.encoder)
critic_target = copy.deepcopy(critic)
own = [*actor.encoder.head.parameters(), *actor.trunk.parameters()]
actor_optimizer = torch.optim.Adam(own, lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(90):
    pos = torch.rand(32, 2) * 1.6 - 0.8
    action = torch.rand(32, 2) * 2 - 1
    reward = 1 - (action + 0.6 * pos).pow(2).sum(-1, keepdim=True)
    obs, next_obs = render(pos), render((pos + 0.2 * action).clamp(-1, 1))
    with torch.no_grad():
        next_action, log_prob = actor(next_obs)
        target_V = torch.min(*critic_target(next_obs, next_action)) - 0.05 * log_prob
        target_Q = reward + 0.8 * target_V
        aug_action, log_prob = actor(shift(next_obs))
        target_aug = reward + 0.8 * (torch.min(*critic_target(shift(next_obs), aug_action)) - 0.05 * log_prob)
        target_Q = (target_Q + target_aug) / 2
    Q1, Q2 = critic(obs, action)
    A1, A2 = critic(shift(obs), action)
    critic_loss = sum(F.mse_loss(q, target_Q) for q in (Q1, Q2, A1, A2))
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    pi, log_prob = actor(obs)
    actor_Q = torch.min(*critic(obs, pi, detach_encoder=True))
    actor_loss = (0.05 * log_prob - actor_Q).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    with torch.no_grad():
        for p, t in zip(critic.parameters(), critic_target.parameters()):
            t.lerp_(p, 0.02)
    if step % 18 == 17:
        print(f"step {step + 1} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f}")
