import dataclasses

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


@dataclasses.dataclass
class Step:
    s: np.ndarray
    a: int
    r: float
    s2: np.ndarray
    end: float
    demo: bool


class Parking:
    """Steer a car on a 1-D lane into the slot between two others; 0 back, 1 hold, 2 forward."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.v, self.k = self.rng.uniform(-1, 1), 0.0, 0
        return self.obs()

    def obs(self):
        return np.array([self.x, 5 * self.v, abs(self.x), self.k / 25], np.float32)

    def step(self, a):
        self.v = 0.7 * self.v + 0.06 * (a - 1)
        self.x = float(np.clip(self.x + self.v, -1.2, 1.2))
        self.k += 1
        parked = abs(self.x) < 0.1 and abs(self.v) < 0.08
        return self.obs(), (1.0 if parked else -0.3 * abs(self.x)), parked, parked or self.k >= 25

    def expert(self):
        want = -0.25 * self.x
        return int(np.clip(np.round((want - self.v) / 0.06), -1, 1)) + 1


def q_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


class DQfD:
    def __init__(self, gamma=0.9, margin=0.3, weight=0.5):
        self.net, self.slow = q_net(), q_net()
        self.slow.load_state_dict(self.net.state_dict())
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.gamma, self.margin, self.weight = gamma, margin, weight

    def loss(self, batch):
        s, s2 = (torch.tensor(np.stack([getattr(b, k) for b in batch])) for k in ("s", "s2"))
        a = torch.tensor([b.a for b in batch])
        r, end = (torch.tensor([getattr(b, k) for b in batch]) for k in ("r", "end"))
        demo = torch.tensor([b.demo for b in batch]).float()
        q = self.net(s)
        chosen = q.gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + self.gamma * (1 - end) * self.slow(s2).max(1).values
        td = F.smooth_l1_loss(chosen, y)
        gap = (q + self.margin * (1 - F.one_hot(a, 3))).max(1).values - chosen
        large_margin = (gap * demo).sum() / demo.sum().clamp(min=1)
        return td + self.weight * large_margin, td

    def update(self, batch):
        loss, td = self.loss(batch)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for p, ps in zip(self.net.parameters(), self.slow.parameters()):
            ps.data.lerp_(p.data, 0.1)
        return loss.item(), td.item()


def main(seed=12):
    torch.manual_seed(seed)
    env, agent = Parking(seed), DQfD()
    memory, totals = [], []
    for episode in range(40):
        demo = episode < 3
        s, over, total = env.reset(), False, 0.0
        while not over:
            with torch.no_grad():
                a = env.expert() if demo else int(agent.net(torch.from_numpy(s)).argmax())
            if not demo and env.rng.random() < 0.1:
                a = int(env.rng.integers(3))
            s2, r, parked, over = env.step(a)
            memory.append(Step(s, a, r, s2, float(parked), demo))
            s, total = s2, total + r
            if len(memory) > 16 and env.k % 2 == 0:
                info = agent.update([memory[i] for i in env.rng.integers(0, len(memory), 24)])
        totals.append(total)
        if episode % 5 == 4:
            print(f"episode {episode + 1} return {np.mean(totals[-5:]):+.2f} loss {info[0]:.4f} td {info[1]:.4f}")


if __name__ == "__main__":
    main()
