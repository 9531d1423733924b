"""Implicit Q-learning on a logged point-mass dataset. Everything is optimised jointly."""
import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)


def net(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


def make_dataset(n, gen):
    """Noisy proportional controllers of varying quality drive x towards the origin."""
    s = torch.rand(n, 2, generator=gen) * 4 - 2
    gain = torch.rand(n, 1, generator=gen) * 1.2 - 0.1
    a = (-gain * s + 0.2 * torch.randn(n, 2, generator=gen)).clamp(-1, 1)
    s2 = s + 0.5 * a
    r = -s2.norm(dim=1) * 0.3
    done = (s2.norm(dim=1) < 0.2).float()
    return s, a, r, s2, done


class IQL(nn.Module):
    def __init__(self, gamma=0.95, tau=0.75, beta=3.0):
        super().__init__()
        self.gamma, self.tau, self.beta = gamma, tau, beta
        self.q, self.v, self.mu = net(4, 1), net(2, 1), net(2, 2)
        self.log_std = nn.Parameter(torch.full((2,), -0.7))

    def log_prob(self, s, a):
        return torch.distributions.Normal(torch.tanh(self.mu(s)), self.log_std.exp()).log_prob(a).sum(1)

    def losses(self, q_slow, s, a, r, s2, done):
        sa = torch.cat([s, a], 1)
        with torch.no_grad():
            q_ref = q_slow(sa).squeeze(1)
            y = r + self.gamma * (1 - done) * self.v(s2).squeeze(1)
        v = self.v(s).squeeze(1)
        adv = q_ref - v
        expectile = torch.where(adv > 0, self.tau, 1 - self.tau)
        v_loss = (expectile * adv.square()).mean()
        q_loss = (self.q(sa).squeeze(1) - y).square().mean()
        pi_loss = -(torch.exp(self.beta * adv.detach()).clamp(max=50.0) * self.log_prob(s, a)).mean()
        return v_loss, q_loss, pi_loss


def main():
    gen = torch.Generator().manual_seed(17)
    torch.manual_seed(17)
    data = make_dataset(4000, gen)
    agent = IQL()
    q_slow = copy.deepcopy(agent.q).requires_grad_(False)
    opt = torch.optim.AdamW(agent.parameters(), lr=1e-3, weight_decay=1e-5)
    for step in range(260):
        i = torch.randint(0, 4000, (64,), generator=gen)
        v_loss, q_loss, pi_loss = agent.losses(q_slow, *(x[i] for x in data))
        opt.zero_grad()
        (v_loss + q_loss + pi_loss).backward()
        opt.step()
        with torch.no_grad():
            for p, tp in zip(agent.q.parameters(), q_slow.parameters()):
                tp.lerp_(p, 0.02)
        if step % 65 == 64:
            with torch.no_grad():
                s = torch.rand(200, 2, generator=gen) * 4 - 2
                for _ in range(6):
                    s = s + 0.5 * torch.tanh(agent.mu(s))
            print(f"step {step} v {v_loss.item():.4f} q {q_loss.item():.4f} pi {pi_loss.item():+.3f} "
                  f"final distance {s.norm(dim=1).mean():.3f}")


if __name__ == "__main__":
    main()
