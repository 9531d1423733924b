import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
random.seed(4)
np.random.seed(4)
torch.manual_seed(4)

N_CELLS, N_ACTIONS = 12, 3
BATCH, GAMMA, ALPHA = 32, 0.95, 0.6


class RingRoad:
    """Drive around a ring, brake before the toll cell, park at the last one."""

    def reset(self):
        self.cell, self.t = 0, 0
        return self.obs()

    def obs(self):
        ang = 2 * np.pi * self.cell / N_CELLS
        return np.array([np.cos(ang), np.sin(ang), self.t / 30], dtype=np.float32)

    def step(self, a):
        self.cell = min(N_CELLS - 1, max(0, self.cell + (a - 1) + (random.random() < 0.1)))
        self.t += 1
        done = self.cell == N_CELLS - 1
        reward = 1.0 if done else (-0.3 if self.cell == 6 and a == 2 else -0.02)
        return self.obs(), reward, done, self.t >= 30


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(3, 48)
        self.l2 = nn.Linear(48, 48)
        self.l3 = nn.Linear(48, N_ACTIONS)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


class PrioritisedMemory:
    def __init__(self, size=3000):
        self.size, self.data, self.prio = size, [], []

    def add(self, *row):
        if len(self.data) == self.size:
            self.data.pop(0)
            self.prio.pop(0)
        self.data.append(row)
        self.prio.append(max(self.prio, default=1.0))

    def sample(self, n, beta):
        p = np.array(self.prio) ** ALPHA
        p /= p.sum()
        idx = np.random.choice(len(self.data), n, p=p)
        w = (len(self.data) * p[idx]) ** -beta
        cols = list(zip(*[self.data[i] for i in idx]))
        tensors = [torch.as_tensor(np.array(c), dtype=torch.float32) for c in cols]
        return idx, torch.as_tensor(w / w.max(), dtype=torch.float32), tensors


def learn(q, q_target, opt, memory, beta):
    idx, weights, (s, a, r, s2, d) = memory.sample(BATCH, beta)
    a, r, d = a.long().unsqueeze(1), r.unsqueeze(1), d.unsqueeze(1)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        target = r + GAMMA * (1 - d) * q_target(s2).gather(1, best)
    value = q(s).gather(1, a)
    losses = F.smooth_l1_loss(value, target, reduction="none")
    loss = (weights.unsqueeze(1) * losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for i, e in zip(idx, (value - target).abs().squeeze(1).tolist()):
        memory.prio[i] = e + 1e-3
    return loss.item()


env, memory = RingRoad(), PrioritisedMemory()
q, q_target = QNet(), QNet()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
s, ret, returns, loss, updates = env.reset(), 0.0, [], 0.0, 0
for step in range(900):
    eps = max(0.1, 1 - step / 500)
    if random.random() < eps:
        a = random.randrange(N_ACTIONS)
    else:
        with torch.no_grad():
            a = q(torch.as_tensor(s)).argmax().item()
    s2, r, done, timeout = env.step(a)
    memory.add(s, a, r, s2, float(done))
    s, ret = s2, ret + r
    if done or timeout:
        returns.append(ret)
        s, ret = env.reset(), 0.0
    if step >= 100 and step % 2 == 0:
        loss = learn(q, q_target, opt, memory, beta=min(1.0, 0.4 + step / 1500))
        updates += 1
        if updates % 40 == 0:
            q_target.load_state_dict(q.state_dict())
    if step % 150 == 149:
        print(f"step {step + 1} episodes {len(returns)} return {np.mean(returns[-8:]):.3f} loss {loss:.4f}")
