import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.Softplus(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


class RefiningAgent:
    def __init__(self):
        self.q, self.q_t = Q(), Q()
        self.q_t.load_state_dict(self.q.state_dict())
        self.mu = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.mu_opt = torch.optim.Adam(self.mu.parameters(), lr=1e-3)

    @torch.no_grad()
    def act(self, s, steps=3):
        a = self.mu(s)
        with torch.enable_grad():
            a = a.detach().requires_grad_(True)
            for _ in range(steps):
                (g,) = torch.autograd.grad(self.q(s, a).sum(), a)
                a = (a + 0.1 * g).clamp(-1, 1).detach().requires_grad_(True)
        return a.detach().numpy()

    def learn(self, s, a, r, s2):
        prev = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        y = r + 0.9 * self.q_t(s2, self.mu(s2))
        torch.set_grad_enabled(prev)
        q_loss = F.mse_loss(self.q(s, a), y)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()
        mu_loss = -self.q(s, self.mu(s)).mean()
        self.mu_opt.zero_grad()
        mu_loss.backward()
        self.mu_opt.step()
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_t.parameters()):
                t.lerp_(p, 0.05)
        return q_loss.item(), mu_loss.item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    agent, s = RefiningAgent(), rng.normal(size=2).astype(np.float32)
    mem = []
    for t in range(120):
        a = agent.act(torch.from_numpy(s)) + rng.normal(0, 0.2, 2).astype(np.float32)
        s2 = (0.8 * s + 0.4 * a).astype(np.float32)
        mem.append((s, a, np.float32(-np.sum((s2 - 0.5) ** 2)), s2))
        s = s2 if t % 20 else rng.normal(size=2).astype(np.float32)
        if t >= 40 and t % 2 == 0:
            batch = [torch.from_numpy(np.stack(c)) for c in zip(*[mem[i] for i in rng.integers(0, len(mem), 32)])]
            out = agent.learn(*batch)
            if t % 20 == 0:
                print(t, [round(x, 4) for x in out])


main()
