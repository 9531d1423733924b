import math
import random

import gymnasium as gym
import torch
import torch.nn as nn

torch.set_num_threads(1)


class PrioritisedReplay:
    def __init__(self, capacity, alpha=0.6, beta=0.4):
        self.capacity, self.alpha, self.beta = capacity, alpha, beta
        self.rows, self.priority = [], []

    def __len__(self):
        return len(self.rows)

    def add(self, row):
        top = max((float(p.detach()) for p in self.priority[-50:]), default=1.0)
        self.rows.append(row)
        self.priority.append(torch.tensor(top))
        if len(self.rows) > self.capacity:
            del self.rows[0], self.priority[0]

    def sample(self, k):
        p = torch.stack(self.priority).detach() ** self.alpha
        p = p / p.sum()
        idx = torch.multinomial(p, k, replacement=True)
        w = (len(self.rows) * p[idx]) ** -self.beta
        cols = zip(*(self.rows[i] for i in idx.tolist()))
        return idx.tolist(), w / w.max(), [torch.stack(c) for c in cols]

    def reprioritise(self, idx, errors):
        for i, e in zip(idx, errors):
            self.priority[i] = e.abs() + 1e-3


def dueling(width=64):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(4, width), nn.Tanh())
            self.a, self.v = nn.Linear(width, 2), nn.Linear(width, 1)

        def forward(self, x):
            h = self.f(x)
            a = self.a(h)
            return self.v(h) + a - a.mean(1, keepdim=True)

    return Net()


def main(seed=19, steps=500):
    random.seed(seed)
    torch.manual_seed(seed)
    env = gym.make("CartPole-v1")
    q, q_slow = dueling(), dueling()
    q_slow.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    memory = PrioritisedReplay(1000)
    obs = torch.from_numpy(env.reset(seed=seed)[0])
    length, lengths = 0, []
    for t in range(steps):
        eps = 0.05 + 0.95 * math.exp(-t / 150)
        with torch.no_grad():
            a = int(q(obs[None]).argmax()) if random.random() > eps else random.randrange(2)
        raw, r, term, trunc, _ = env.step(a)
        nxt = torch.from_numpy(raw)
        memory.add((obs, torch.tensor(a), torch.tensor(float(r)), nxt, torch.tensor(float(term))))
        obs, length = nxt, length + 1
        if term or trunc:
            lengths.append(length)
            obs, length = torch.from_numpy(env.reset()[0]), 0
        if len(memory) < 64 or t % 4:
            continue
        idx, w, (o, act, rew, o2, done) = memory.sample(32)
        with torch.no_grad():
            y = rew + 0.95 * (1 - done) * q_slow(o2).gather(1, q(o2).argmax(1, keepdim=True)).squeeze(1)
        error = y - q(o).gather(1, act[:, None]).squeeze(1)
        loss = (w * error.square()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        memory.reprioritise(idx, error.detach())
        with torch.no_grad():
            for p, s in zip(q.parameters(), q_slow.parameters()):
                s.lerp_(p, 0.03)
        if t % 100 == 0:
            print(f"t {t} loss {loss.item():.4f} episode length {sum(lengths[-5:]) / max(1, len(lengths[-5:])):.1f}")


if __name__ == "__main__":
    main()
