"""Dueling double DQN for a delivery robot in a small warehouse; every step costs."""
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
MAP = ["..#...",
       "..#.#.",
       "....#.",
       ".##...",
       "....#G"]
DIRS = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Warehouse:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.free = [(i, j) for i, row in enumerate(MAP) for j, c in enumerate(row) if c == "."]
        self.index = {p: k for k, p in enumerate(self.free)}

    def reset(self):
        self.pos, self.t = self.free[self.rng.integers(len(self.free))], 0
        return self.encode()

    def encode(self):
        x = np.zeros(len(self.free), np.float32)
        if self.pos in self.index:
            x[self.index[self.pos]] = 1
        return x

    def step(self, a):
        i, j = self.pos[0] + DIRS[a][0], self.pos[1] + DIRS[a][1]
        if 0 <= i < len(MAP) and 0 <= j < len(MAP[0]) and MAP[i][j] != "#":
            self.pos = (i, j)
        self.t += 1
        goal = MAP[self.pos[0]][self.pos[1]] == "G"
        return self.encode(), 0.0 if goal else -1.0, goal, self.t >= 40


class DuelingNet(nn.Module):
    def __init__(self, n_in, n_act=4, h=64):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_in, h), nn.ReLU())
        self.value_stream = nn.Sequential(
            nn.Linear(h, h),
            nn.ReLU(),
            nn.Linear(h, 1),
            nn.ReLU(),  # <- culprit
        )
        self.advantage_stream = nn.Sequential(nn.Linear(h, h), nn.ReLU(), nn.Linear(h, n_act))

    def forward(self, x):
        z = self.features(x)
        value = self.value_stream(z)  # <- culprit
        adv = self.advantage_stream(z)
        return value + adv - adv.mean(dim=1, keepdim=True)


def run(seed=6, steps=1500, gamma=0.95):
    torch.manual_seed(seed)
    env = Warehouse(seed)
    online, target = DuelingNet(len(env.free)), DuelingNet(len(env.free))
    target.load_state_dict(online.state_dict())
    opt = torch.optim.Adam(online.parameters(), lr=2e-3)
    buf, s, ret, rets = [], env.reset(), 0.0, []
    for t in range(steps):
        if env.rng.random() < max(0.1, 1 - t / 700):
            a = int(env.rng.integers(4))
        else:
            with torch.no_grad():
                a = online(torch.from_numpy(s)[None]).argmax(1).item()
        s2, r, goal, late = env.step(a)
        buf.append((s, a, r, s2, float(goal)))
        s, ret = s2, ret + r
        if goal or late:
            rets.append(ret)
            s, ret = env.reset(), 0.0
        if t < 200 or t % 4:
            continue
        S, A, R, S2, D = zip(*(buf[i] for i in env.rng.integers(0, len(buf), 64)))
        S, S2 = torch.from_numpy(np.stack(S)), torch.from_numpy(np.stack(S2))
        A, R, D = torch.tensor(A), torch.tensor(R), torch.tensor(D)
        with torch.no_grad():
            nxt = target(S2).gather(1, online(S2).argmax(1, keepdim=True)).squeeze(1)
            y = R + gamma * (1 - D) * nxt
        q = online(S).gather(1, A.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, tp in zip(online.parameters(), target.parameters()):
                tp += 0.05 * (p - tp)
        if t % 200 == 0:
            print(f"t {t} loss {loss.item():.3f} q {q.mean().item():+.2f} target {y.mean().item():+.2f} return {np.mean(rets[-10:]):.1f}")


if __name__ == "__main__":
    run()
