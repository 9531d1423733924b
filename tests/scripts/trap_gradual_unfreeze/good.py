import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)


class Policy(nn.Module):
    def __init__(self, n_obs=8, n_act=4, width=32):
        super().__init__()
        self.block0 = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh())
        self.block1 = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.actor = nn.Linear(width, n_act)
        self.critic = nn.Linear(width, 1)

    def features(self, x):
        return self.block1(self.block0(x))

    def forward(self, x):
        h = self.features(x)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class Unfreezer:
    def __init__(self, modules, every):
        self.queue, self.every = list(modules), every
        for m in self.queue:
            m.requires_grad_(False)

    def on_update(self, u):
        if self.queue and u > 0 and u % self.every == 0:
            self.queue.pop(0).requires_grad_(True)


def pretrain(policy, steps=60):
    """Autoencoding warm start of the trunk on unlabelled observations."""
    decoder = nn.Linear(32, 8)
    opt = torch.optim.Adam([*policy.block0.parameters(), *policy.block1.parameters(), *decoder.parameters()], lr=5e-3)
    for _ in range(steps):
        x = torch.randn(128, 8)
        loss = F.mse_loss(decoder(policy.features(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"reconstruction {loss.item():.3f}")


def reward_fn(x, a):
    score = x.view(-1, 4, 2).sum(-1)
    return torch.tanh(score.gather(1, a[:, None]).squeeze(1))


def main():
    torch.manual_seed(2)
    policy = Policy()
    pretrain(policy)
    schedule = Unfreezer([policy.block1, policy.block0], every=12)
    opt = torch.optim.Adam(policy.parameters(), lr=4e-3)
    for u in range(48):
        schedule.on_update(u)
        obs = torch.randn(256, 8)
        with torch.no_grad():
            dist, value = policy(obs)
            act = dist.sample()
            old = dist.log_prob(act)
            rew = reward_fn(obs, act)
            adv = rew - value
        for _ in range(3):
            for idx in torch.randperm(256).split(128):
                dist, value = policy(obs[idx])
                ratio = (dist.log_prob(act[idx]) - old[idx]).exp()
                a = adv[idx]
                pg = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                vf = F.mse_loss(value, rew[idx])
                loss = pg + 0.5 * vf - 0.01 * dist.entropy().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        if u % 12 == 11:
            print(f"update {u + 1} reward {rew.mean().item():.3f}")


if __name__ == "__main__":
    main()
