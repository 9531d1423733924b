import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)


class Harvest:
    """6 fields with ripeness; pick one per step, the others ripen"""

    def __init__(self, n):
        self.n, self.ripe = n, torch.rand(n, 6)
        self.rate = 0.05 + 0.1 * torch.rand(6)

    def step(self, a):
        rows = torch.arange(self.n)
        r = self.ripe[rows, a].clone()
        ripe = (self.ripe + self.rate).clamp(max=1.0)
        ripe[rows, a] = 0.0
        self.ripe = ripe
        return self.ripe.clone(), r


def head(out):
    return nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, out))


class DiscreteSAC:
    def __init__(self, n_act=6, gamma=0.9, lr=2e-3):
        self.gamma, self.n_act = gamma, n_act
        self.policy = head(n_act)
        self.qs = nn.ModuleList([head(n_act), head(n_act)])
        self.qs_slow = copy.deepcopy(self.qs).requires_grad_(False)
        self.log_alpha = torch.tensor(-2.0, requires_grad=True)
        self.target_entropy = 0.5 * torch.log(torch.tensor(float(n_act)))
        self.opt_q = torch.optim.Adam(self.qs.parameters(), lr=lr)
        self.opt_pi = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.opt_alpha = torch.optim.Adam([self.log_alpha], lr=lr)

    def dist(self, s):
        logp = F.log_softmax(self.policy(s), dim=1)
        return logp.exp(), logp

    def update_critics(self, s, a, r, s2):
        with torch.no_grad():
            p2, logp2 = self.dist(s2)
            q2 = torch.min(*(q(s2) for q in self.qs_slow))
            v2 = (p2 * (q2 - self.log_alpha.exp() * logp2)).sum(1)
            y = r + self.gamma * v2
        loss = sum(F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y) for q in self.qs)
        self.opt_q.zero_grad()
        loss.backward()
        self.opt_q.step()
        return loss.item()

    def update_policy(self, s):
        p, logp = self.dist(s)
        with torch.no_grad():
            q = torch.min(*(f(s) for f in self.qs))
        alpha = self.log_alpha.exp()
        pi_loss = (p * (alpha.detach() * logp - q)).sum(1).mean()
        neg_entropy = (p * logp).sum(1)
        alpha_loss = -(alpha * (neg_entropy.detach() + self.target_entropy)).mean()
        for o in (self.opt_pi, self.opt_alpha):
            o.zero_grad()
        torch.autograd.backward([pi_loss, alpha_loss])
        for o in (self.opt_pi, self.opt_alpha):
            o.step()
        return -neg_entropy.mean().item()

    def slow_copy(self, tau=0.02):
        with torch.no_grad():
            for p, t in zip(self.qs.parameters(), self.qs_slow.parameters()):
                t.lerp_(p, tau)


if __name__ == "__main__":
    torch.manual_seed(40)
    env, agent, mem = Harvest(16), DiscreteSAC(), []
    s = env.ripe.clone()
    for t in range(220):
        with torch.no_grad():
            a = torch.multinomial(agent.dist(s)[0], 1).squeeze(1)
        s2, r = env.step(a)
        mem.append((s, a, r, s2))
        s = s2
        batch = [torch.cat(c) for c in zip(*(mem[i] for i in torch.randint(len(mem), (3,)).tolist()))]
        q_loss = agent.update_critics(*batch)
        ent = agent.update_policy(batch[0])
        agent.slow_copy()
        if t % 44 == 43:
            print(f"t {t} q {q_loss:.4f} entropy {ent:.3f} alpha {agent.log_alpha.exp().item():.3f} harvest {r.mean():.3f}")
