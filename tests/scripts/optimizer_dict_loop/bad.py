import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Signals:
    """A hidden phase drives eight noisy channels; guess the quadrant of the phase."""

    def __init__(self, n=32, seed=19):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.mix = torch.randn(2, 8, generator=self.g)
        self.phase = torch.rand(n, generator=self.g) * 6.28

    def obs(self):
        latent = torch.stack([self.phase.sin(), self.phase.cos()], 1)
        return latent @ self.mix + 0.1 * torch.randn(self.n, 8, generator=self.g)

    def step(self, a):
        quadrant = (self.phase % 6.2832 / 1.5708).long().clamp(max=3)
        reward = torch.where(a == quadrant, 1.0, -0.2)
        self.phase = self.phase + 0.4 + 0.1 * torch.randn(self.n, generator=self.g)
        return self.obs(), reward


class LatentAgent(nn.Module):
    def __init__(self, obs=8, z=4, actions=4):
        super().__init__()
        self.encoder = nn.ModuleDict({
            "enc": nn.Sequential(nn.Linear(obs, 24), nn.Tanh(), nn.Linear(24, z)),
            "dec": nn.Sequential(nn.Linear(z, 24), nn.Tanh(), nn.Linear(24, obs)),
        })
        self.actor = nn.Sequential(nn.Linear(z, 24), nn.Tanh(), nn.Linear(24, actions))
        self.critic = nn.Sequential(nn.Linear(z, 24), nn.Tanh(), nn.Linear(24, 1))

    def latent(self, obs):
        return self.encoder["enc"](obs)

    def dist(self, z):
        return Categorical(logits=self.actor(z))


def build_optimizers(agent, rates):
    optimizers = {}
    for name, lr in rates.items():
        optimizers[name] = torch.optim.Adam(getattr(agent, name).parameters(), lr=lr)  # <- culprit
    return optimizers


class Learner:
    def __init__(self, gamma=0.6):
        self.agent, self.gamma = LatentAgent(), gamma
        self.opt = build_optimizers(self.agent, {"encoder": 3e-3, "actor": 2e-3, "critic": 5e-3})

    def losses(self, obs, act, rew, nxt):
        z = self.agent.latent(obs)
        recon = self.agent.encoder["dec"](z)
        z = z.detach()
        with torch.no_grad():
            target = rew + self.gamma * self.agent.critic(self.agent.latent(nxt)).squeeze(-1)
        value = self.agent.critic(z).squeeze(-1)
        adv = (target - value).detach()
        return {
            "encoder": (recon - obs).pow(2).mean(),
            "actor": -(self.agent.dist(z).log_prob(act) * adv).mean(),
            "critic": (value - target).pow(2).mean(),
        }

    def update(self, *batch):
        losses = self.losses(*batch)
        for opt in self.opt.values():
            opt.zero_grad()
        sum(losses.values()).backward()
        for name in ("actor", "critic"):
            self.opt[name].step()
        return {k: v.item() for k, v in losses.items()}


if __name__ == "__main__":
    torch.manual_seed(19)
    env, learner = Signals(), Learner()
    obs = env.obs()
    for t in range(130):
        with torch.no_grad():
            act = learner.agent.dist(learner.agent.latent(obs)).sample()
        nxt, rew = env.step(act)
        log = learner.update(obs, act, rew, nxt)
        obs = nxt
        if t % 30 == 0:
            print(f"t {t} reward {rew.mean():+.3f} " + " ".join(f"{k} {v:.4f}" for k, v in log.items()))
