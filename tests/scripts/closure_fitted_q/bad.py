import copy
from functools import partial

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


def make_log(n=600, seed=4):
    """Transitions of a random controller steering a noisy 1-D cart."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    a = rng.integers(0, 3, n)
    force = (a - 1).astype(np.float32)
    v = 0.9 * x[:, 1] + 0.2 * force + 0.02 * rng.standard_normal(n).astype(np.float32)
    p = x[:, 0] + 0.2 * v
    nxt = np.stack([p, v], 1).clip(-1.5, 1.5).astype(np.float32)
    r = (1.0 - np.abs(nxt[:, 0]) - 0.1 * np.abs(nxt[:, 1])).astype(np.float32)
    done = (np.abs(p) > 1.2).astype(np.float32)
    return tuple(torch.from_numpy(z) for z in (x, a, r, nxt, done))


class QFunction(nn.Module):
    def __init__(self, n_actions=3, hidden=40):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, n_actions),
        )

    def forward(self, s):
        return self.layers(s)

    def of(self, s, a):
        return self(s).gather(1, a[:, None])[:, 0]


def regression_closure(q, optimizer, s, a, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(q.of(s, a), y)
    return loss


class FQI:
    def __init__(self, gamma=0.9, lr=3e-3):
        self.q = QFunction()
        self.frozen = copy.deepcopy(self.q).requires_grad_(False)
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)

    def targets(self, r, nxt, done):
        with torch.no_grad():
            best = self.frozen(nxt).max(1).values
        return r + self.gamma * (1 - done) * best

    def sweep(self, log, inner):
        s, a, r, nxt, done = log
        y = self.targets(r, nxt, done)
        curve = []
        for _ in range(inner):
            idx = torch.randint(len(r), (128,))
            closure = partial(regression_closure, self.q, self.optimizer, s[idx], a[idx], y[idx])
            curve.append(self.optimizer.step(closure).item())  # <- culprit
        self.frozen.load_state_dict(self.q.state_dict())
        return sum(curve) / len(curve)


def main():
    torch.manual_seed(4)
    log = make_log()
    algo = FQI()
    for iteration in range(10):
        loss = algo.sweep(log, inner=20)
        with torch.no_grad():
            greedy = algo.q(log[0]).argmax(1).bincount(minlength=3).tolist()
        if iteration % 3 == 0:
            print(f"iteration {iteration} loss {loss:.4f} greedy actions {greedy}")


if __name__ == "__main__":
    main()
