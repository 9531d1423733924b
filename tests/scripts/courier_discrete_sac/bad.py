import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
GRID, MOVES = 5, ((0, 1), (0, -1), (1, 0), (-1, 0))


class City:
    """Deliver from a random crossing to the depot in the corner; leaving the map is not allowed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.p, self.t = self.rng.integers(0, GRID, 2), 0
        return self.state()

    def state(self):
        x = np.zeros(2 * GRID, np.float32)
        x[self.p[0]] = x[GRID + self.p[1]] = 1
        ok = np.array([all(0 <= c < GRID for c in self.p + m) for m in MOVES])
        return x, ok

    def step(self, a):
        nxt = self.p + MOVES[a]
        self.p = np.clip(nxt, 0, GRID - 1)
        self.t += 1
        home = bool((self.p == GRID - 1).all())
        return self.state(), 1.0 if home else -0.1, home, home or self.t >= 30


def mlp(out, inp=2 * GRID):
    return nn.Sequential(nn.Linear(inp, 64), nn.ReLU(), nn.Linear(64, out))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(4)

    def forward(self, x, ok):
        z = self.net(x).masked_fill(~ok, -1e9)
        p = z.softmax(-1)
        return p, p.log()  # <- culprit


class Learner:
    def __init__(self, gamma=0.95, alpha=0.05):
        self.pi, self.q1, self.q2 = Policy(), mlp(4), mlp(4)
        self.q1_t, self.q2_t = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), 3e-3)
        self.q_opt = torch.optim.Adam([*self.q1.parameters(), *self.q2.parameters()], 3e-3)
        self.gamma, self.alpha = gamma, alpha

    def update(self, s, ok, a, r, s2, ok2, end):
        with torch.no_grad():
            p, logp = self.pi(s2, ok2)
            v = (p * (torch.min(self.q1_t(s2), self.q2_t(s2)) - self.alpha * logp)).sum(1)
            y = r + self.gamma * (1 - end) * v
        q_loss = sum((q(s).gather(1, a[:, None])[:, 0] - y).square().mean() for q in (self.q1, self.q2))
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()
        p, logp = self.pi(s, ok)
        with torch.no_grad():
            q = torch.min(self.q1(s), self.q2(s))
        pi_loss = (p * (self.alpha * logp - q)).sum(1).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()
        for live, slow in ((self.q1, self.q1_t), (self.q2, self.q2_t)):
            for w, w_t in zip(live.parameters(), slow.parameters()):
                w_t.data.lerp_(w.data, 0.02)
        return q_loss.item(), pi_loss.item()


def main(steps=1000, seed=8):
    torch.manual_seed(seed)
    env, agent, memory, returns = City(seed), Learner(), [], []
    (x, ok), ret = env.reset(), 0.0
    for t in range(steps):
        if env.rng.random() < max(0.1, 1 - t / 500):
            a = int(env.rng.choice(np.flatnonzero(ok)))
        else:
            with torch.no_grad():
                a = int(agent.pi(torch.tensor(x)[None], torch.tensor(ok)[None])[0].argmax())
        (x2, ok2), r, home, over = env.step(a)
        memory.append((x, ok, a, np.float32(r), x2, ok2, np.float32(home)))
        x, ok, ret = x2, ok2, ret + r
        if over:
            returns.append(ret)
            (x, ok), ret = env.reset(), 0.0
        if t >= 100 and t % 4 == 0:
            batch = [memory[i] for i in env.rng.integers(0, len(memory), 64)]
            losses = agent.update(*(torch.as_tensor(np.array(c)) for c in zip(*batch)))
        if t % 200 == 199:
            print(f"{t + 1} q loss {losses[0]:.4f} pi loss {losses[1]:+.4f} return {np.mean(returns[-15:]):+.2f}")


if __name__ == "__main__":
    main()
