import random
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Blackjackish:
    """Draw until you stop; reward is the sum if <= 1, else -1."""

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.total, self.n = 0.0, 0
        return np.array([0.0, 0.0, 1.0], dtype=np.float32)

    def step(self, a):
        if a == 0:
            return self._o(), self.total, True
        self.total += self.rng.uniform(0, 0.5)
        self.n += 1
        if self.total > 1:
            return self._o(), -1.0, True
        return self._o(), 0.0, False

    def _o(self):
        return np.array([self.total, self.n / 5, 1.0], dtype=np.float32)


def make_agent(n_obs, n_act, lr=4e-3, gamma=0.97):
    torso = nn.Sequential(nn.Linear(n_obs, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
    head = nn.Linear(24, n_act)
    target_head = nn.Linear(24, n_act)
    target_head.load_state_dict(head.state_dict())
    opt = torch.optim.Adam(list(torso.parameters()) + list(head.parameters()), lr=lr)

    @torch.no_grad()  # <- culprit
    def features(obs):
        x = torch.as_tensor(np.asarray(obs), dtype=torch.float32)
        return torso(x)

    def act(obs, eps):
        if random.random() < eps:
            return random.randrange(n_act)
        return int(head(features(obs)).argmax())

    def learn(batch):
        o, a, r, o2, d = zip(*batch)
        q = head(features(o)).gather(1, torch.tensor(a).view(-1, 1)).squeeze(1)
        with torch.no_grad():
            nxt = target_head(features(o2)).max(1).values
            y = torch.tensor(r, dtype=torch.float32) + gamma * nxt * (1 - torch.tensor(d, dtype=torch.float32))
        loss = nn.functional.huber_loss(q, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    def sync():
        target_head.load_state_dict(head.state_dict())

    return SimpleNamespace(act=act, learn=learn, sync=sync)


def main():
    random.seed(1)
    torch.manual_seed(1)
    env, agent, memory = Blackjackish(), make_agent(3, 2), []
    history = []
    for ep in range(80):
        o, done = env.reset(), False
        while not done:
            a = agent.act(o, eps=0.4)
            o2, r, done = env.step(a)
            memory.append((o, a, r, o2, done))
            o = o2
        history.append(r)
        if len(memory) > 40 and ep % 2 == 0:
            loss = agent.learn(random.sample(memory, 32))
        if ep % 20 == 19:
            agent.sync()
            print(f"ep {ep} mean reward {np.mean(history[-20:]):.3f} loss {loss:.4f}")


main()
