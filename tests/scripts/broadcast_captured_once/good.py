import copy

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


def make_policy():
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))


class Tracking:
    """Follow a moving dot with three moves."""

    def __init__(self, n, seed):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.x, self.dot = torch.zeros(n), torch.zeros(n)
        self.drift = torch.zeros(n)

    def obs(self):
        gap = self.dot - self.x
        return torch.stack([gap, gap.abs(), self.drift, torch.ones(self.n)], 1)

    def step(self, a):
        self.x = (self.x + 0.3 * (a - 1)).clamp(-2, 2)
        self.drift = 0.8 * self.drift + 0.1 * torch.randn(self.n, generator=self.g)
        self.dot = (self.dot + self.drift).clamp(-2, 2)
        return 1 - (self.dot - self.x).abs()


class RolloutWorker:
    def __init__(self, rank, template, envs=12):
        self.env = Tracking(envs, seed=100 + rank)
        self.policy = copy.deepcopy(template).requires_grad_(False)

    def set_weights(self, weights):
        self.policy.load_state_dict(weights)

    @torch.no_grad()
    def sample(self, horizon):
        rows = {"obs": [], "act": [], "logp": [], "rew": []}
        for _ in range(horizon):
            obs = self.env.obs()
            dist = Categorical(logits=self.policy(obs))
            act = dist.sample()
            for k, v in zip(rows, (obs, act, dist.log_prob(act), self.env.step(act))):
                rows[k].append(v)
        return {k: torch.stack(v) for k, v in rows.items()}


class Learner:
    def __init__(self, gamma=0.7, clip=0.2):
        self.policy = make_policy()
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.opt = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=3e-3)
        self.gamma, self.clip = gamma, clip

    def get_weights(self):
        return {k: v.detach().clone() for k, v in self.policy.state_dict().items()}

    def update(self, samples, epochs=3):
        obs, act, logp, rew = (torch.cat([s[k] for s in samples], 1) for k in ("obs", "act", "logp", "rew"))
        with torch.no_grad():
            value = self.critic(obs).squeeze(-1)
            run, ret = value[-1], torch.zeros_like(rew)
            for t in reversed(range(len(rew))):
                run = rew[t] + self.gamma * run
                ret[t] = run
            adv = ret - value
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(epochs):
            new = Categorical(logits=self.policy(obs)).log_prob(act)
            ratio = (new - logp).exp()
            pg = -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
            vf = (self.critic(obs).squeeze(-1) - ret).pow(2).mean()
            self.opt.zero_grad()
            (pg + 0.5 * vf).backward()
            self.opt.step()
        return rew.mean().item(), vf.item()


def main(rounds=14):
    torch.manual_seed(14)
    learner = Learner()
    workers = [RolloutWorker(rank, learner.policy) for rank in range(3)]
    for r in range(rounds):
        weights = learner.get_weights()
        for w in workers:
            w.set_weights(weights)
        reward, vf = learner.update([w.sample(horizon=10) for w in workers])
        if r % 4 == 0:
            print(f"round {r} reward {reward:.3f} value loss {vf:.3f}")


if __name__ == "__main__":
    main()
