import copy
import types

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)

cfg = types.SimpleNamespace(N=5, M=2, gamma=0.7, tau=0.05, lr=4e-3, batch=64, steps=600, start=150, seed=4)


class PointMass:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.x = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.k = 0
        return self.x.copy()

    def step(self, a):
        self.x = np.clip(self.x + 0.5 * a, -1.5, 1.5).astype(np.float32)
        self.k += 1
        return self.x.copy(), -0.3 * float(np.square(self.x).sum()), self.k >= 15


def build(n_in, n_out, *tail):
    return nn.Sequential(nn.Linear(n_in, 40), nn.SiLU(), nn.Linear(40, n_out), *tail)


class REDQ:
    def __init__(self):
        self.pi = build(2, 2, nn.Tanh())
        self.qs = nn.ModuleList(build(4, 1) for _ in range(cfg.N))
        self.q_targets = copy.deepcopy(self.qs).requires_grad_(False)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), lr=cfg.lr / 2)
        self.q_opt = torch.optim.Adam(self.qs.parameters(), lr=cfg.lr)

    def explore(self, s, rng):
        with torch.no_grad():
            a = self.pi(torch.from_numpy(s)).numpy()
        return np.clip(a + 0.3 * rng.normal(size=2), -1, 1).astype(np.float32)

    @torch.no_grad()
    def target(self, r, s2, done):
        a2 = self.pi(s2)
        a2 = (a2 + 0.1 * torch.randn_like(a2)).clamp(-1, 1)
        chosen = torch.randperm(cfg.N)[:cfg.M].tolist()
        sa = torch.cat([s2, a2], 1)
        q = torch.stack([self.q_targets[i](sa) for i in chosen]).amin(0)
        return r + cfg.gamma * (1 - done) * q

    def update_critics(self, s, a, r, s2, done):
        y = self.target(r, s2, done)
        sa = torch.cat([s, a], 1)
        q_preds = [q(sa) for q in self.qs]
        loss = sum(F.mse_loss(q_preds[i], y) for i in range(cfg.M))
        self.q_opt.zero_grad()
        loss.backward()  # <- culprit
        self.q_opt.step()
        return loss.item()

    def update_actor(self, s):
        sa = torch.cat([s, self.pi(s)], 1)
        loss = -torch.cat([q(sa) for q in self.qs], 1).mean()
        self.pi_opt.zero_grad()
        loss.backward()
        self.pi_opt.step()

    def polyak(self):
        with torch.no_grad():
            for p, tp in zip(self.qs.parameters(), self.q_targets.parameters()):
                tp.copy_((1 - cfg.tau) * tp + cfg.tau * p)


def main():
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    env, agent, replay = PointMass(rng), REDQ(), []
    s, ret, log = env.reset(), 0.0, []
    for t in range(cfg.steps):
        a = agent.explore(s, rng) if t >= cfg.start else rng.uniform(-1, 1, 2).astype(np.float32)
        s2, r, over = env.step(a)
        replay.append((s, a, np.float32([r]), s2, np.float32([0.0])))
        s, ret = s2, ret + r
        if over:
            log.append(ret)
            s, ret = env.reset(), 0.0
        if t >= cfg.start:
            rows = [replay[i] for i in rng.integers(0, len(replay), cfg.batch)]
            batch = [torch.from_numpy(np.stack(c)) for c in zip(*rows)]
            q_loss = agent.update_critics(*batch)
            if t % 2 == 0:
                agent.update_actor(batch[0])
            agent.polyak()
            if t % 100 == 0:
                print(f"step {t} critic loss {q_loss:.4f} return {np.mean(log[-5:]):.2f}")


if __name__ == "__main__":
    main()
