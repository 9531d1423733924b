"""DQN smoke run: 150 gradient updates of a configuration tuned for 500k."""
import copy
import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

CFG = dict(gamma=0.99, lr=1e-3, batch=64, sync_every=1000, updates=150, l2=1e-4, start=200)


class QNet(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc1 = nn.Linear(obs, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, act)

    def forward(self, x):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def l2_penalty(net):
    total = torch.zeros(())
    for name, p in net.named_parameters():
        if name.endswith("weight"):
            total = total + p.square().sum()
    return total


env = gym.make("CartPole-v1")
q = QNet(4, 2)
q_target = copy.deepcopy(q)
for p in q_target.parameters():
    p.requires_grad = False
opt = torch.optim.AdamW(q.parameters(), lr=CFG["lr"], weight_decay=0.0)
buffer = deque(maxlen=5000)
obs, _ = env.reset(seed=0)
updates, losses = 0, []
while updates < CFG["updates"]:
    eps = max(0.1, 1.0 - updates / 100)
    if random.random() < eps:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(q(torch.as_tensor(obs)[None]).argmax(1).item())
    nxt, rew, term, trunc, _ = env.step(action)
    buffer.append((obs, action, rew, nxt, float(term)))
    obs = nxt if not (term or trunc) else env.reset()[0]
    if len(buffer) < CFG["start"]:
        continue
    o, a, r, n, d = zip(*random.sample(buffer, CFG["batch"]))
    o, n = torch.as_tensor(np.stack(o)), torch.as_tensor(np.stack(n))
    a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
    with torch.no_grad():
        y = r + CFG["gamma"] * (1 - d) * q_target(n).max(1).values
    pred = q(o).gather(1, a[:, None]).squeeze(1)
    td = F.smooth_l1_loss(pred, y)
    loss = td + CFG["l2"] * l2_penalty(q)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10.0)
    opt.step()
    updates += 1
    if updates % CFG["sync_every"] == 0:
        q_target.load_state_dict(q.state_dict())
    losses.append(td.item())
print("td loss first 10: %.4f  last 10: %.4f" % (np.mean(losses[:10]), np.mean(losses[-10:])))
