import copy
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
SEED, CELLS, ATOMS, VMIN, VMAX, GAMMA = 5, 10, 21, -1.0, 3.0, 0.9


class Ring:
    def __init__(self):
        self.rng = np.random.default_rng(SEED)
        self.reset()

    def reset(self):
        self.cell, self.clock = int(self.rng.integers(1, CELLS)), 0
        return self.cell

    def step(self, a):
        move = 1 if a == 1 else -1
        if self.rng.random() < 0.1:
            move = -move
        self.cell = (self.cell + move) % CELLS
        self.clock += 1
        win, trap = self.cell == 0, self.cell == 4
        return self.cell, 2.0 * win - 0.5 * trap, win or self.clock > 25, win


class CategoricalDQN(nn.Module):
    def __init__(self, n_act=2):
        super().__init__()
        self.n_act = n_act
        self.body = nn.Sequential(nn.Linear(CELLS, 64), nn.ReLU(), nn.Linear(64, n_act * ATOMS))
        self.register_buffer("support", torch.linspace(VMIN, VMAX, ATOMS))

    def forward(self, s):
        logits = self.body(F.one_hot(s, CELLS).float()).view(-1, self.n_act, ATOMS)
        pmf = logits.softmax(dim=2)
        return logits, pmf

    def q(self, s):
        return self(s)[1] @ self.support


def project(pmf, r, live, support):
    """Distribute the shifted atoms on the fixed support."""
    width = (VMAX - VMIN) / (ATOMS - 1)
    b = ((r[:, None] + GAMMA * live[:, None] * support).clamp(VMIN, VMAX) - VMIN) / width
    lo, hi = b.floor().long(), b.ceil().long()
    out = torch.zeros_like(pmf)
    out.scatter_add_(1, lo, pmf * (hi.float() - b + (lo == hi).float()))
    out.scatter_add_(1, hi, pmf * (b - lo.float()))
    return out


def main():
    torch.manual_seed(SEED)
    env, net = Ring(), CategoricalDQN()
    target = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3, eps=1e-4)
    replay, s, score, scores = deque(maxlen=4000), env.reset(), 0.0, []
    for step in range(1, 1601):
        eps = max(0.05, 1 - step / 800)
        if env.rng.random() < eps:
            a = int(env.rng.integers(2))
        else:
            with torch.no_grad():
                a = net.q(torch.tensor([s])).argmax(1).item()
        s2, r, over, win = env.step(a)
        replay.append((s, a, r, s2, 1.0 - win))
        score += r
        s = s2
        if over:
            scores.append(score)
            s, score = env.reset(), 0.0
        if step < 200 or step % 4:
            continue
        batch = [replay[i] for i in env.rng.integers(0, len(replay), 64)]
        bs, ba, br, bs2, live = (torch.tensor(c) for c in zip(*batch))
        rows = torch.arange(64)
        with torch.no_grad():
            best = target.q(bs2).argmax(1)
            goal = project(target(bs2)[1][rows, best], br.float(), live.float(), net.support)
        logits, pmf = net(bs)
        loss = F.cross_entropy(pmf[rows, ba], goal)  # <- culprit
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 80 == 0:
            target.load_state_dict(net.state_dict())
        if step % 200 == 0:
            with torch.no_grad():
                sharp = net(torch.arange(CELLS))[1].max(-1).values.mean()
            print(f"step {step} loss {loss.item():.3f} sharpest atom {sharp:.3f} score {np.mean(scores[-10:]):.2f}")


if __name__ == "__main__":
    main()
