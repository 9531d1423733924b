import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Maze:
    layout = ["S..", ".#.", "..G"]
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self):
        self.rows, self.cols = len(self.layout), len(self.layout[0])

    def reset(self):
        self.at, self.t = (0, 0), 0
        return self.encode()

    def encode(self):
        grid = np.zeros((self.rows, self.cols), dtype=np.float32)
        grid[self.at] = 1
        return grid.ravel()

    def step(self, a):
        r, c = self.at[0] + self.moves[a][0], self.at[1] + self.moves[a][1]
        self.t += 1
        if 0 <= r < self.rows and 0 <= c < self.cols and self.layout[r][c] != "#":
            self.at = (r, c)
        goal = self.layout[self.at[0]][self.at[1]] == "G"
        return self.encode(), 1.0 if goal else -0.04, goal, self.t >= 20


class DQN:
    def __init__(self, env, gamma=0.9, batch=32, sync_every=5):
        self.env, self.gamma, self.batch, self.sync_every = env, gamma, batch, sync_every
        self.q = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 4))
        self.q_old = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-2)
        self.memory, self.updates, self.losses = [], 0, []

    def greedy(self, s):
        return self.q(torch.from_numpy(s)).argmax().item()

    def explore(self, s, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return self.greedy(s)

    def learn(self):
        s, a, r, s2, end = zip(*random.sample(self.memory, self.batch))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        a, r, end = torch.tensor(a), torch.tensor(r), torch.tensor(end, dtype=torch.float32)
        q_sa = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            y = r + self.gamma * (1 - end) * self.q_old(s2).max(1).values
        loss = F.smooth_l1_loss(q_sa, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.losses.append(loss.item())
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.q_old.load_state_dict(self.q.state_dict())

    def evaluate(self, episodes=2):
        self.q.eval()
        scores = []
        with torch.set_grad_enabled(False):
            for _ in range(episodes):
                s, over, score = self.env.reset(), False, 0.0
                while not over:
                    s, r, end, timeout = self.env.step(self.greedy(s))
                    score += r
                    over = end or timeout
                scores.append(score)
        self.q.train()
        return sum(scores) / episodes

    def fit(self, episodes):
        for episode in range(episodes):
            s, over = self.env.reset(), False
            while not over:
                a = self.explore(s, eps=max(0.1, 1 - episode / 10))
                s2, r, end, timeout = self.env.step(a)
                self.memory.append((s, a, r, s2, end))
                s, over = s2, end or timeout
                if len(self.memory) >= 64 and len(self.memory) % 4 == 0:
                    self.learn()
            if episode % 5 == 4:
                print(f"episode {episode + 1}: evaluation {self.evaluate():.2f}, loss {np.mean(self.losses[-10:]):.4f}")


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    DQN(Maze()).fit(15)
