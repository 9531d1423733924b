import argparse
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--updates", type=int, default=30)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--reward-coef", type=float, default=0.5)
    return p.parse_args()


class MassSpring:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = self.rng.uniform(-1, 1, size=2)
        self.n = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, v = self.s
        v = v + 0.1 * (-x - 0.1 * v + a)
        self.s = np.array([x + 0.1 * v, v])
        self.n += 1
        return self.s.astype(np.float32), float(-(x**2) - 0.1 * a**2), self.n == 20


class WorldModel(nn.Module):
    def __init__(self, s=2, a=1, h=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(s + a, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.delta_head = nn.Linear(h, s)
        self.reward_head = nn.Linear(h, 1)

    def forward(self, s, a):
        z = self.body(torch.cat([s, a], -1))
        return s + self.delta_head(z), self.reward_head(z).squeeze(-1)


@torch.no_grad()
def plan(model, obs, horizon=5, candidates=32):
    s = torch.as_tensor(obs).repeat(candidates, 1)
    seq = torch.rand(horizon, candidates, 1) * 2 - 1
    total = torch.zeros(candidates)
    for a in seq:
        s, r = model(s, a)
        total += r
    return seq[0, total.argmax()].item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env, model = MassSpring(rng), WorldModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    data, obs = [], env.reset()
    for _ in range(200):
        a = rng.uniform(-1, 1)
        nxt, r, done = env.step(a)
        data.append((obs, [a], nxt, r))
        obs = env.reset() if done else nxt

    for update in range(args.updates):
        idx = rng.integers(len(data), size=64)
        s, a, s2, r = (torch.tensor(np.array([data[i][k] for i in idx]), dtype=torch.float32) for k in range(4))
        pred_s2, pred_r = model(s, a)
        # dynamics
        loss = (pred_s2 - s2).pow(2).mean()
        # reward
        loss = args.reward_coef * (pred_r - r).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # <- culprit
        optimizer.step()
        act = plan(model, obs)
        nxt, rew, done = env.step(act)
        data.append((obs, [act], nxt, rew))
        obs = env.reset() if done else nxt
        if update % 10 == 0:
            print(f"update {update:3d} model loss {loss.item():.4f} planned action {act:+.2f} reward {rew:.3f}")


if __name__ == "__main__":
    main()
