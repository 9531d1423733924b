"""Conservative Q-learning on logged data of a one-dimensional regulator."""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, TanhTransform, TransformedDistribution

torch.set_num_threads(1)


def logged_data(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(n, 2)).astype(np.float32)
    u = np.clip(-0.6 * s[:, :1] + 0.3 * rng.normal(size=(n, 1)), -0.95, 0.95).astype(np.float32)
    s2 = (0.9 * s + 0.4 * np.concatenate([u, 0.5 * u], 1) + 0.05 * rng.normal(size=(n, 2))).astype(np.float32)
    r = (-(s ** 2).sum(1) - 0.1 * (u ** 2).sum(1)).astype(np.float32)
    return [torch.from_numpy(x) for x in (s, u, r, s2)]


class TanhGaussian(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 48), nn.Tanh(), nn.Linear(48, 2 * act))

    def forward(self, s):
        mu, log_std = self.net(s).chunk(2, -1)
        base = Normal(mu, log_std.clamp(-4, 1).exp())
        dist = TransformedDistribution(base, TanhTransform(cache_size=1))
        a = dist.rsample()
        return a, dist.log_prob(a).sum(-1)


class Q(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


class CQL:
    def __init__(self, obs=2, act=1, n_random=6, gamma=0.8, min_q_weight=1.0):
        self.policy = TanhGaussian(obs, act)
        self.q1, self.q2 = Q(obs, act), Q(obs, act)
        self.t1, self.t2 = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.q1_optim = torch.optim.Adam(self.q1.parameters(), lr=3e-3)
        self.q2_optim = torch.optim.Adam(self.q2.parameters(), lr=3e-3)
        self.n, self.gamma, self.weight, self.alpha, self.act = n_random, gamma, min_q_weight, 0.1, act

    def actions_for(self, s):
        rep = s[:, None].expand(-1, self.n, -1)
        a, logp = self.policy(rep)
        return a, logp

    def tile_q(self, q, s, a):
        return q(s[:, None].expand(-1, self.n, -1), a)

    def train(self, s, a, r, s2):
        pi, logp = self.policy(s)
        policy_loss = (self.alpha * logp - torch.min(self.q1(s, pi), self.q2(s, pi))).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()
        self.policy_optim.step()

        with torch.no_grad():
            a2, logp2 = self.policy(s2)
            y = r + self.gamma * (torch.min(self.t1(s2, a2), self.t2(s2, a2)) - self.alpha * logp2)

        random_actions = torch.empty(len(s), self.n, self.act).uniform_(-1, 1)
        random_density = np.log(0.5 ** self.act)
        cur_a, cur_logp = self.actions_for(s)
        new_a, new_logp = self.actions_for(s2)
        losses = []
        for q, opt in ((self.q1, self.q1_optim), (self.q2, self.q2_optim)):
            pred = q(s, a)
            bellman = F.mse_loss(pred, y)
            cat_q = torch.cat([self.tile_q(q, s, random_actions) - random_density,
                               self.tile_q(q, s, new_a.detach()) - new_logp.detach(),
                               self.tile_q(q, s, cur_a.detach()) - cur_logp.detach()], 1)
            gap = torch.logsumexp(cat_q, dim=1).mean() - pred.mean()
            loss = bellman + self.weight * gap
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append((bellman.item(), gap.item()))
        with torch.no_grad():
            for net, tgt in ((self.q1, self.t1), (self.q2, self.t2)):
                for p, tp in zip(net.parameters(), tgt.parameters()):
                    tp.mul_(0.95).add_(p, alpha=0.05)
        return policy_loss.item(), losses[0]


def main():
    torch.manual_seed(0)
    data, agent = logged_data(), CQL()
    for step in range(50):
        i = torch.randint(0, len(data[0]), (64,))
        pl, (bell, gap) = agent.train(*(x[i] for x in data))
        if step % 10 == 0:
            print(f"step {step} policy {pl:.3f} bellman {bell:.3f} conservative gap {gap:.3f}")


if __name__ == "__main__":
    main()
