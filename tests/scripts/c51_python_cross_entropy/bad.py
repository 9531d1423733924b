import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)

ATOMS, VMIN, VMAX, GAMMA = 11, -1.0, 3.0, 0.8
SUPPORT = np.linspace(VMIN, VMAX, ATOMS)
DZ = SUPPORT[1] - SUPPORT[0]


class Ring:
    def __init__(self, n=6, seed=0):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.s = 0

    def onehot(self):
        v = np.zeros(self.n, np.float32)
        v[self.s] = 1
        return v

    def step(self, a):
        self.s = (self.s + (1 if a else -1)) % self.n
        return self.onehot(), float(self.s == 3)


class C51(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, 32)
        self.out = nn.Linear(32, 2 * ATOMS)

    def forward(self, x):
        return self.out(torch.relu(self.fc(x))).view(-1, 2, ATOMS).log_softmax(-1)


def project(probs, reward):
    m = np.zeros(ATOMS)
    for p, z in zip(probs, SUPPORT):
        b = (np.clip(reward + GAMMA * z, VMIN, VMAX) - VMIN) / DZ
        lo, hi = int(np.floor(b)), int(np.ceil(b))
        m[lo] += p * (hi - b if hi != lo else 1.0)
        m[hi] += p * (b - lo)
    return m


def greedy(net, x):
    with torch.no_grad():
        q = (net(torch.from_numpy(x)[None]).exp() * torch.tensor(SUPPORT, dtype=torch.float32)).sum(-1)
    return int(q.argmax())


def cross_entropy(net, target, batch):
    total = 0.0
    for s, a, r, s2 in batch:
        best = greedy(target, s2)
        with torch.no_grad():
            nxt = target(torch.from_numpy(s2)[None])[0, best].exp().tolist()
        m = project(nxt, r)
        logp = net(torch.from_numpy(s)[None])[0, a].tolist()  # <- culprit
        total -= sum(w * lp for w, lp in zip(m, logp))
    return torch.as_tensor(total / len(batch), dtype=torch.float32)


if __name__ == "__main__":
    torch.manual_seed(0)
    env, rng = Ring(), np.random.default_rng(1)
    net = C51(env.n)
    target = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    memory, s = [], env.onehot()
    for t in range(120):
        a = int(rng.integers(2)) if rng.random() < 0.3 else greedy(net, s)
        s2, r = env.step(a)
        memory.append((s, a, r, s2))
        s = s2
        if t >= 20 and t % 4 == 0:
            batch = [memory[i] for i in rng.integers(0, len(memory), 12)]
            loss = cross_entropy(net, target, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if t % 20 == 0:
                target.load_state_dict(net.state_dict())
                print(t, "loss", round(float(loss), 4))
