import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContinualDQN:
    def __init__(self, obs_dim, hidden=32, lr=2e-3, gamma=0.9):
        self.torso = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU())
        self.heads = nn.ModuleDict()
        self.hidden, self.gamma = hidden, gamma
        params = list(self.torso.parameters()) + list(self.heads.parameters())
        self.optimizer = torch.optim.Adam(params, lr=lr)
        self.updates = 0

    def add_task(self, name, n_actions=2):
        head = nn.Linear(self.hidden, n_actions)
        self.heads[name] = head
        self.optimizer.add_param_group({"params": list(head.parameters())})
        self.sync()

    def sync(self):
        self.target_torso = copy.deepcopy(self.torso)
        self.target_heads = copy.deepcopy(self.heads)

    def q_values(self, s, task):
        return self.heads[task](self.torso(s))

    def update(self, batch, task):
        s, a, r, s2, d = zip(*batch)
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
        with torch.no_grad():
            nxt = self.target_heads[task](self.target_torso(s2)).max(1).values
            y = r + self.gamma * (1 - d) * nxt
        q = self.q_values(s, task).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 5 == 0:
            self.sync()
        return loss.item()
