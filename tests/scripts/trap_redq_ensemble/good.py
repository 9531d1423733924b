import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)
N, M, G = 4, 2, 3


class Ensemble(nn.Module):
    """N critics evaluated by batched matrix products"""

    def __init__(self, d_in, width=32):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(N, d_in, width) / d_in ** 0.5)
        self.b1 = nn.Parameter(torch.zeros(N, 1, width))
        self.w2 = nn.Parameter(torch.randn(N, width, 1) / width ** 0.5)
        self.b2 = nn.Parameter(torch.zeros(N, 1, 1))

    def forward(self, o, a):
        x = torch.cat([o, a], 1).expand(N, -1, -1)
        h = torch.tanh(torch.baddbmm(self.b1, x, self.w1))
        return torch.baddbmm(self.b2, h, self.w2).squeeze(-1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 2))

    def forward(self, o):
        mu, raw = self.f(o).chunk(2, 1)
        d = torch.distributions.Normal(mu, raw.clamp(-4, 1).exp())
        u = d.rsample()
        logp = d.log_prob(u) - 2 * (0.6931 - u - nn.functional.softplus(-2 * u))
        return torch.tanh(u), logp.squeeze(1)


def step_env(s, a):
    pos = (s[:, :1] + 0.2 * s[:, 1:]).clamp(-2, 2)
    vel = 0.9 * s[:, 1:] + 0.3 * a
    return torch.cat([pos, vel], 1), -(pos.abs() + 0.1 * vel.abs()).squeeze(1)


def main():
    torch.manual_seed(51)
    actor, critics = Actor(), Ensemble(3)
    slow = copy.deepcopy(critics).requires_grad_(False)
    opt_q = torch.optim.Adam(critics.parameters(), lr=3e-3)
    opt_pi = torch.optim.Adam(actor.parameters(), lr=1e-3)
    log_alpha = torch.tensor(-1.5, requires_grad=True)
    opt_alpha = torch.optim.Adam([log_alpha], lr=3e-3)
    s, mem = torch.randn(16, 2), []
    for t in range(70):
        with torch.no_grad():
            a, _ = actor(s)
        s2, r = step_env(s, a)
        mem.append((s, a, r, s2))
        s = s2 if t % 15 else torch.randn(16, 2)
        for _ in range(G):
            bs, ba, br, bs2 = (torch.cat(c) for c in zip(*(mem[i] for i in torch.randint(len(mem), (3,)).tolist())))
            alpha = log_alpha.exp().detach()
            with torch.no_grad():
                a2, logp2 = actor(bs2)
                pick = torch.randperm(N)[:M]
                y = br + 0.9 * (slow(bs2, a2)[pick].min(0).values - alpha * logp2)
            q_loss = (critics(bs, ba) - y.expand(N, -1)).pow(2).sum(0).mean()
            opt_q.zero_grad(set_to_none=False)
            q_loss.backward()
            opt_q.step()
            with torch.no_grad():
                torch._foreach_lerp_(list(slow.parameters()), list(critics.parameters()), 0.02)
        pi, logp = actor(bs)
        pi_loss = (alpha * logp - critics(bs, pi).mean(0)).mean()
        opt_pi.zero_grad()
        pi_loss.backward()
        opt_pi.step()
        alpha_loss = -(log_alpha * (logp.detach() - 1.0)).mean()
        opt_alpha.zero_grad()
        alpha_loss.backward()
        opt_alpha.step()
        if t % 14 == 13:
            print(f"t {t} q {q_loss.item():.4f} pi {pi_loss.item():+.3f} alpha {alpha.item():.3f} reward {r.mean():+.3f}")


if __name__ == "__main__":
    main()
