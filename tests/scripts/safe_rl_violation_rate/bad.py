"""Lagrangian actor update with a learned reward critic and a learned cost critic."""
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Heating:
    """state: outside temp, price, hour. action: heating power. cost: indoor temperature above limit."""

    def sample(self, n):
        return torch.rand(n, 3)

    def outcome(self, s, a):
        temp = 0.5 * s[:, 0] + a[:, 0]
        reward = 1.0 - (temp - 0.9).abs() - 0.3 * s[:, 1] * a[:, 0]
        return reward, temp


def net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.SiLU(), nn.Linear(32, o))


class SafeActorCritic(nn.Module):
    def __init__(self, limit=0.8):
        super().__init__()
        self.pi = net(3, 1)
        self.reward_critic = net(4, 1)
        self.cost_critic = net(4, 1)
        self.limit = limit

    def act(self, s):
        return torch.sigmoid(self.pi(s))

    def q(self, s, a):
        x = torch.cat([s, a], 1)
        return self.reward_critic(x).squeeze(1), self.cost_critic(x).squeeze(1)

    def violation(self, cost):
        return (cost > self.limit).float().mean()  # <- culprit


class Trainer:
    def __init__(self, model):
        self.m = model
        self.pi_opt = torch.optim.Adam(model.pi.parameters(), lr=3e-3)
        critics = list(model.reward_critic.parameters()) + list(model.cost_critic.parameters())
        self.c_opt = torch.optim.Adam(critics, lr=5e-3)
        self.lam = 1.0

    def critic_step(self, s, a, r, c):
        qr, qc = self.m.q(s, a)
        loss = (qr - r).pow(2).mean() + (qc - c).pow(2).mean()
        self.c_opt.zero_grad()
        loss.backward()
        self.c_opt.step()
        return loss.item()

    def actor_step(self, s):
        qr, qc = self.m.q(s, self.m.act(s))
        viol = self.m.violation(qc)
        loss = -qr.mean() + self.lam * viol
        self.pi_opt.zero_grad()
        loss.backward()
        self.pi_opt.step()
        self.lam = max(0.0, self.lam + 0.05 * (viol.item() - 0.1))
        return viol.item()


def main():
    torch.manual_seed(2)
    env, tr = Heating(), Trainer(SafeActorCritic())
    for it in range(40):
        s = env.sample(48)
        with torch.no_grad():
            a = (tr.m.act(s) + 0.2 * torch.randn(48, 1)).clamp(0, 1)
        r, c = env.outcome(s, a)
        cl = tr.critic_step(s, a, r, c)
        v = tr.actor_step(s)
        if it % 10 == 0:
            print(f"{it} reward {r.mean():.3f} violation {v:.2f} lambda {tr.lam:.2f} critic {cl:.3f}")


main()
