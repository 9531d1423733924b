import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Taxi:
    """A 4x4 grid with a random target cell."""

    def __init__(self, rng, size=4):
        self.rng, self.size = rng, size

    def reset(self):
        self.pos, self.goal = self.rng.integers(0, self.size, 2), self.rng.integers(0, self.size, 2)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.concatenate([self.pos, self.goal, self.goal - self.pos]).astype(np.float32) / self.size

    def step(self, a):
        move = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])[a]
        self.pos = np.clip(self.pos + move, 0, self.size - 1)
        self.t += 1
        won = bool((self.pos == self.goal).all())
        return self.obs(), (1.0 if won else -0.1 * float(np.abs(self.pos - self.goal).sum())), won, self.t >= 20


class PrioritisedReplay:
    def __init__(self, alpha=0.6, beta=0.4):
        self.rows, self.priority = [], []
        self.alpha, self.beta = alpha, beta

    def add(self, *row):
        self.rows.append(row)
        self.priority.append(max(self.priority, default=1.0))

    def sample(self, rng, n):
        p = np.asarray(self.priority) ** self.alpha
        p = p / p.sum()
        idx = rng.choice(len(p), n, p=p)
        w = (len(p) * p[idx]) ** -self.beta
        cols = [torch.as_tensor(np.stack(c)) for c in zip(*(self.rows[i] for i in idx))]
        return idx, torch.tensor((w / w.max()).tolist()), cols

    def update(self, idx, errors):
        for i, e in zip(idx, errors):
            self.priority[i] = float(abs(e)) + 1e-3


def learn(online, target, opt, memory, rng, gamma=0.9):
    idx, weight, (s, a, r, s2, d) = memory.sample(rng, 64)
    q = online(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        a2 = online(s2).argmax(1, keepdim=True)
        y = r + gamma * (1 - d) * target(s2).gather(1, a2).squeeze(1)
    td = y - q
    loss = (weight * td.pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    memory.update(idx, td.detach().numpy())
    return {"loss": loss.item(), "q": float(q.mean()), "td": np.abs(td.tolist()).mean()}


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, memory = Taxi(rng), PrioritisedReplay()
    online = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 4))
    target = copy.deepcopy(online)
    opt = torch.optim.Adam(online.parameters(), lr=3e-3)
    s, steps, lengths = env.reset(), 0, []
    for t in range(1, 1501):
        if rng.random() < max(0.1, 1 - t / 600):
            a = int(rng.integers(4))
        else:
            with torch.no_grad():
                a = online(torch.from_numpy(s)).argmax().item()
        s2, r, won, cut = env.step(a)
        memory.add(s, np.int64(a), np.float32(r), s2, np.float32(won))
        s, steps = s2, steps + 1
        if won or cut:
            lengths.append(steps)
            s, steps = env.reset(), 0
        if t > 100 and t % 2 == 0:
            stats = learn(online, target, opt, memory, rng)
        if t % 60 == 0:
            target.load_state_dict(online.state_dict())
        if t % 300 == 0:
            print(f"t {t} length {np.mean(lengths[-20:]):.1f} " + " ".join(f"{k} {v:.3f}" for k, v in stats.items()))


if __name__ == "__main__":
    main()
