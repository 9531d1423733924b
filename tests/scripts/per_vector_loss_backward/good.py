import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class River:
    """Swim against the current: right is hard, left is easy, the prize is on the right."""

    def __init__(self, rng, n=6):
        self.rng, self.n = rng, n

    def reset(self):
        self.s, self.t = 1, 0
        return self.s

    def step(self, a):
        self.t += 1
        if a == 0:
            self.s = max(0, self.s - 1)
        elif self.rng.random() < 0.7:
            self.s = min(self.n - 1, self.s + 1)
        reward = 1.0 if self.s == self.n - 1 else (0.05 if self.s == 0 else 0.0)
        return self.s, reward, self.t >= 20


class Prioritised:
    def __init__(self, rng, alpha=0.6, beta=0.4):
        self.rng, self.alpha, self.beta = rng, alpha, beta
        self.rows, self.priority = [], []

    def add(self, *row):
        self.rows.append(row)
        self.priority.append(max(self.priority, default=1.0))

    def sample(self, k):
        p = np.array(self.priority) ** self.alpha
        p = p / p.sum()
        idx = self.rng.choice(len(self.rows), k, p=p)
        w = (len(self.rows) * p[idx]) ** -self.beta
        cols = (np.array(c) for c in zip(*[self.rows[i] for i in idx]))
        return idx, torch.tensor(w / w.max(), dtype=torch.float32), [torch.from_numpy(c) for c in cols]

    def refresh(self, idx, errors):
        for i, e in zip(idx, errors):
            self.priority[i] = abs(float(e)) + 1e-3


class Agent:
    def __init__(self, n_states=6, n_actions=2, gamma=0.95):
        def net():
            return nn.Sequential(nn.Embedding(n_states, 24), nn.Tanh(), nn.Linear(24, n_actions))
        self.online, self.target = net(), net()
        self.target.load_state_dict(self.online.state_dict())
        self.opt = torch.optim.Adam(self.online.parameters(), lr=1e-2)
        self.gamma, self.updates = gamma, 0

    def update(self, memory, k=32):
        idx, weights, (s, a, r, s2) = memory.sample(k)
        q = self.online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = self.online(s2).argmax(1, keepdim=True)
            y = r.float() + self.gamma * self.target(s2).gather(1, best).squeeze(1)
        td = F.smooth_l1_loss(q, y, reduction="none")
        loss = (weights * td).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        memory.refresh(idx, (y - q).detach())
        self.updates += 1
        if self.updates % 10 == 0:
            self.target.load_state_dict(self.online.state_dict())
        return td.mean().item()


def main():
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    env, agent, memory = River(rng), Agent(), Prioritised(rng)
    for episode in range(14):
        s, over, score = env.reset(), False, 0.0
        while not over:
            if rng.random() < 0.5:
                a = int(rng.integers(2))
            else:
                with torch.no_grad():
                    a = int(agent.online(torch.tensor(s)).argmax())
            s2, r, over = env.step(a)
            memory.add(s, a, r, s2)
            s, score = s2, score + r
            if len(memory.rows) >= 60 and len(memory.rows) % 4 == 0:
                td = agent.update(memory)
        if episode >= 4 and episode % 3 == 0:
            print(f"episode {episode}: score {score:.2f} td {td:.4f} updates {agent.updates}")


if __name__ == "__main__":
    main()
