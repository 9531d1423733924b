import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Beta

torch.set_num_threads(1)


class BetaPolicy(nn.Module):
    def __init__(self, obs, act, hidden=32):
        super().__init__()
        self.torso = nn.Linear(obs, hidden)
        self.a = nn.Linear(hidden, act)
        self.b = nn.Linear(hidden, act)

    def forward(self, x):
        h = F.relu(self.torso(x))
        return Beta(1 + F.softplus(self.a(h)), 1 + F.softplus(self.b(h)))


class Q(nn.Module):
    def __init__(self, obs, act, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x, u):
        return self.net(torch.cat([x, u], dim=-1)).squeeze(-1)


class Greenhouse:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.h = self.rng.uniform(0, 1, 2)
        self.t = 0
        return self.h.astype(np.float32)

    def step(self, u):
        self.h = np.clip(0.8 * self.h + 0.3 * u - 0.1 + self.rng.normal(0, 0.01, 2), 0, 1)
        self.t += 1
        return self.h.astype(np.float32), -float(np.abs(self.h - [0.3, 0.7]).sum()), self.t >= 15


def train():
    torch.manual_seed(0)
    env, rng = Greenhouse(0), np.random.default_rng(0)
    pi, q, q_targ = BetaPolicy(2, 2), Q(2, 2), Q(2, 2)
    q_targ.load_state_dict(q.state_dict())
    pi_optim = torch.optim.Adam(pi.parameters(), lr=2e-3)
    q_optim = torch.optim.Adam(q.parameters(), lr=2e-3)
    buffer, s = [], env.reset()
    for step in range(150):
        with torch.no_grad():
            u = pi(torch.from_numpy(s)).sample().numpy()
        s2, r, done = env.step(u)
        buffer.append((s, u, np.float32(r), s2, np.float32(done)))
        s = env.reset() if done else s2
        if step < 45 or step % 3:
            continue
        batch = [buffer[i] for i in rng.integers(0, len(buffer), 32)]
        S, U, R, S2, D = (torch.from_numpy(np.stack(c)) for c in zip(*batch))
        with torch.no_grad():
            y = R + 0.9 * (1 - D) * q_targ(S2, pi(S2).sample())
        q_loss = F.mse_loss(q(S, U), y)
        q_optim.zero_grad()
        q_loss.backward()
        q_optim.step()

        action = pi(S).rsample()
        pi_loss = -q(S, action).mean()
        pi_optim.zero_grad()
        pi_loss.backward()
        pi_optim.step()
        with torch.no_grad():
            for p, pt in zip(q.parameters(), q_targ.parameters()):
                pt.lerp_(p, 0.05)
        if step % 30 == 0:
            print(f"step {step} q_loss {q_loss.item():.4f} pi_loss {pi_loss.item():.4f} reward {r:.3f}")


if __name__ == "__main__":
    train()
