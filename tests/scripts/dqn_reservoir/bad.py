import argparse
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def parse():
    ap = argparse.ArgumentParser(description="reservoir control")
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--steps", type=int, default=1300)
    ap.add_argument("--gamma", type=float, default=0.8)
    ap.add_argument("--seed", type=int, default=3)
    return ap.parse_args()


class Reservoir:
    """Keep the level between flood and drought; inflow depends on a slowly changing season."""

    def __init__(self, seed):
        self.rand = random.Random(seed)
        self.season = 0.0

    def reset(self):
        self.level = self.rand.uniform(0.2, 0.8)
        return self.state()

    def state(self):
        return [2 * self.level - 1, self.season, abs(2 * self.level - 1)]

    def step(self, gate):
        self.season = max(-1.0, min(1.0, self.season + self.rand.uniform(-0.2, 0.2)))
        self.level += 0.08 + 0.06 * self.season - 0.08 * gate
        self.level = max(0.0, min(1.0, self.level))
        penalty = 5.0 if self.level in (0.0, 1.0) else 0.0
        return self.state(), 10 * (0.5 - abs(2 * self.level - 1)) - penalty


class QNetwork(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.l1 = nn.Linear(3, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 3)

    def forward(self, s):
        h = F.relu(self.l1(s))  # <- culprit
        h = F.relu(self.l2(h))  # <- culprit
        return self.l3(h)


def main():
    cfg = parse()
    torch.manual_seed(cfg.seed)
    rand, env = random.Random(cfg.seed), Reservoir(cfg.seed)
    q_net, q_target = QNetwork(), QNetwork()
    q_target.load_state_dict(q_net.state_dict())
    opt = torch.optim.SGD(q_net.parameters(), lr=cfg.lr)
    replay, rewards, s = deque(maxlen=2000), deque(maxlen=200), env.reset()
    for t in range(1, cfg.steps + 1):
        if rand.random() < max(0.1, 1 - t / 500):
            a = rand.randrange(3)
        else:
            with torch.no_grad():
                a = int(q_net(torch.tensor(s)).argmax())
        s2, r = env.step(a)
        replay.append((s, a, r, s2))
        rewards.append(r)
        s = env.reset() if t % 40 == 0 else s2
        if t < 100 or t % 4:
            continue
        bs, ba, br, bs2 = (torch.tensor(c) for c in zip(*rand.sample(list(replay), 64)))
        with torch.no_grad():
            y = br + cfg.gamma * q_target(bs2).max(dim=1).values
        q = q_net(bs)[torch.arange(64), ba]
        loss = F.mse_loss(q, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if t % 40 == 0:
            q_target.load_state_dict(q_net.state_dict())
        if t % 200 == 0:
            spread = q_net(bs).detach().std(0).mean().item()
            print(f"t {t} loss {loss.item():.4f} spread of q over states {spread:.4f} reward {sum(rewards) / len(rewards):.3f}")


if __name__ == "__main__":
    main()
