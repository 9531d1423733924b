import copy
import math

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, kl_divergence

torch.set_num_threads(1)


class Gaussian(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 64), nn.ELU(), nn.Linear(64, 2 * act))

    def forward(self, s):
        mean, raw = self.net(s).chunk(2, -1)
        return Independent(Normal(torch.tanh(mean), nn.functional.softplus(raw) * 0.5 + 0.05), 1)


class QNet(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, 64), nn.ELU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


def dynamics(s, a):
    nxt = 0.9 * s + 0.3 * torch.cat([a, -a], -1)
    return nxt, -(nxt[:, 0] - 0.5).abs() - 0.3 * nxt[:, 1].abs() - 0.05 * a.square().sum(-1)


class MPO:
    def __init__(self, eps_kl=0.003, eta=0.3, n_samples=12):
        self.eps_kl, self.eta, self.k = eps_kl, eta, n_samples
        self.pi, self.q = Gaussian(2, 1), QNet(2, 1)
        self.pi_old, self.q_old = copy.deepcopy(self.pi), copy.deepcopy(self.q)
        self.dual = nn.Parameter(torch.tensor(1.0))
        self.opt_pi = torch.optim.Adam(self.pi.parameters(), lr=3e-3)
        self.opt_q = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.opt_dual = torch.optim.Adam([self.dual], lr=2e-2)

    def evaluate(self, s, a, r, s2):
        with torch.no_grad():
            a2 = self.pi_old(s2).sample((self.k,))
            y = r + 0.9 * self.q_old(s2.expand(self.k, -1, -1), a2).mean(0)
        loss = (self.q(s, a) - y).pow(2).mean()
        self.opt_q.zero_grad()
        loss.backward()
        self.opt_q.step()
        return loss.item()

    def improve(self, s):
        with torch.no_grad():
            old = self.pi_old(s)
            cand = old.sample((self.k,))
            w = torch.softmax(self.q(s.expand(self.k, -1, -1), cand) / self.eta, dim=0)
        new = self.pi(s)
        fit = -(w * new.log_prob(cand)).sum(0).mean()
        kl = kl_divergence(old, new).mean()
        alpha = nn.functional.softplus(self.dual)
        penalty = alpha.detach() * kl
        dual_term = alpha * (self.eps_kl - kl.detach())
        loss = fit + penalty + dual_term
        self.opt_pi.zero_grad()
        self.opt_dual.zero_grad()
        loss.backward()
        self.opt_pi.step()
        self.opt_dual.step()
        return kl.item(), alpha.item()

    def refresh(self):
        self.pi_old.load_state_dict(self.pi.state_dict())
        self.q_old.load_state_dict(self.q.state_dict())


def main():
    torch.manual_seed(12)
    agent, rows = MPO(), []
    s = torch.randn(32, 2)
    for t in range(200):
        with torch.no_grad():
            a = agent.pi(s).sample()
        s2, r = dynamics(s, a)
        rows.append((s, a, r, s2))
        s = s2 if t % 12 else torch.randn(32, 2)
        batch = [torch.cat(c) for c in zip(*(rows[i] for i in torch.randint(len(rows), (2,)).tolist()))]
        q_loss = agent.evaluate(*batch)
        kl, alpha = agent.improve(batch[0])
        if t % 8 == 7:
            agent.refresh()
        if t % 40 == 39:
            print(f"t {t} reward {r.mean():+.3f} q {q_loss:.4f} kl {kl:.5f} sqrt(kl/eps) {math.sqrt(max(kl, 0) / agent.eps_kl):.2f} alpha {alpha:.2f}")


if __name__ == "__main__":
    main()
