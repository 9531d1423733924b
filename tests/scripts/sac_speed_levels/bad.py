import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)

LEVELS = 5
GAMMA, TAU, ALPHA = 0.9, 0.03, 0.02


class Drive:
    """Follow a reference speed with little jerk."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.speed, self.ref, self.k = 0.0, self.rng.uniform(-0.8, 0.8), 0
        return self.obs()

    def obs(self):
        return np.array([self.speed, self.ref, self.ref - self.speed], dtype=np.float32)

    def step(self, a):
        before = self.speed
        self.speed += 0.6 * (a - self.speed)
        self.k += 1
        reward = -abs(self.ref - self.speed) - 0.1 * abs(self.speed - before)
        if self.k % 8 == 0:
            self.ref = self.rng.uniform(-0.8, 0.8)
        return self.obs(), reward, self.k >= 32


def to_level(action):
    return (action * LEVELS).int().float() / LEVELS  # <- culprit


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 40), nn.ReLU(), nn.Linear(40, 2))

    def forward(self, o):
        mu, log_std = self.net(o).chunk(2, dim=-1)
        d = Normal(mu, log_std.clamp(-3, 0.5).exp())
        u = d.rsample()
        a = u.tanh()
        return a, d.log_prob(u) - torch.log(1 - a.square() + 1e-5)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 40), nn.ReLU(), nn.Linear(40, 1))

    def forward(self, o, a):
        return self.net(torch.cat((o, a), dim=-1))


torch.manual_seed(3)
pi, q1, q2, t1, t2 = Policy(), Q(), Q(), Q(), Q()
t1.load_state_dict(q1.state_dict())
t2.load_state_dict(q2.state_dict())


def min_q(a, b, o, act):
    return torch.min(a(o, act), b(o, act))


def update(batch, pi_opt, q_opt):
    o, a, r, o2 = batch
    with torch.no_grad():
        a2, lp2 = pi(o2)
        y = r + GAMMA * (min_q(t1, t2, o2, to_level(a2)) - ALPHA * lp2)
    q_loss = (q1(o, a) - y).pow(2).mean() + (q2(o, a) - y).pow(2).mean()
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    act, lp = pi(o)
    pi_loss = (ALPHA * lp - min_q(q1, q2, o, to_level(act))).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    for src, dst in ((q1, t1), (q2, t2)):
        for p, t in zip(src.parameters(), dst.parameters()):
            t.data.copy_((1 - TAU) * t.data + TAU * p.data)
    return q_loss.item(), pi_loss.item()


if __name__ == "__main__":
    rng = np.random.default_rng(3)
    pi_opt = torch.optim.Adam(pi.parameters(), lr=2e-3)
    q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=2e-3)
    env, replay = Drive(3), []
    for episode in range(10):
        o, done, ret = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                a = to_level(pi(torch.from_numpy(o))[0]).numpy()
            o2, r, done = env.step(float(a[0]))
            replay.append((o, a, np.float32([r]), o2))
            o, ret = o2, ret + r
            if len(replay) > 64 and len(replay) % 6 == 0:
                rows = zip(*[replay[i] for i in rng.integers(0, len(replay), 48)])
                lq, lp = update([torch.from_numpy(np.stack(c)) for c in rows], pi_opt, q_opt)
        if episode > 2:
            print(f"episode {episode} return {ret:.2f} q {lq:.4f} pi {lp:.4f}")
