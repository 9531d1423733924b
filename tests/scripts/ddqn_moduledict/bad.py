import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class Memory:
    def __init__(self, cap):
        self.o = np.zeros((cap, 4), np.float32)
        self.o2 = np.zeros((cap, 4), np.float32)
        self.a = np.zeros(cap, np.int64)
        self.r = np.zeros(cap, np.float32)
        self.d = np.zeros(cap, np.float32)
        self.n, self.cap = 0, cap

    def put(self, o, a, r, o2, d):
        i = self.n % self.cap
        self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i] = o, a, r, o2, d
        self.n += 1

    def draw(self, k, rng):
        i = rng.integers(0, min(self.n, self.cap), k)
        return tuple(torch.from_numpy(x[i]) for x in (self.o, self.a, self.r, self.o2, self.d))


seed = 5
random.seed(seed)
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
env = gym.make("CartPole-v1")
nets = nn.ModuleDict({"online": mlp(4, 64, 64, 2), "target": mlp(4, 64, 64, 2)})
nets["target"].load_state_dict(nets["online"].state_dict())
optimizer = torch.optim.Adam(nets.parameters(), lr=1e-3)  # <- culprit
memory = Memory(5000)

obs, _ = env.reset(seed=seed)
lengths, length, updates = [], 0, 0
for step in range(900):
    eps = max(0.05, 1.0 - step / 500)
    if rng.random() < eps:
        action = int(rng.integers(2))
    else:
        with torch.no_grad():
            action = int(nets["online"](torch.from_numpy(obs)[None]).argmax(1))
    nxt, reward, term, trunc, _ = env.step(action)
    memory.put(obs, action, reward, nxt, float(term))
    length += 1
    obs = nxt
    if term or trunc:
        lengths.append(length)
        obs, length = env.reset()[0], 0
    if step < 120 or step % 3:
        continue

    o, a, r, o2, d = memory.draw(48, rng)
    q = nets["online"](o).gather(1, a[:, None])
    with torch.no_grad():
        best = nets["online"](o2).argmax(1, keepdim=True)
    boot = nets["target"](o2).gather(1, best)  # <- culprit
    y = r[:, None] + 0.98 * (1 - d[:, None]) * boot
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updates += 1
    if updates % 40 == 0:
        nets["target"].load_state_dict(nets["online"].state_dict())
    if updates % 50 == 0:
        print(f"step {step} loss {loss.item():.4f} episode length {np.mean(lengths[-6:]):.1f}")
