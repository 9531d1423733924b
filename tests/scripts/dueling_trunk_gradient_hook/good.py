import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
BATCH, GAMMA, LR, SYNC = 32, 0.98, 1e-3, 10


class Dueling(nn.Module):
    """Wang et al. (2016): gradients entering the last common layer are rescaled."""

    def __init__(self, obs, act, n_streams=2):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.adv = nn.Linear(64, act)
        self.val = nn.Linear(64, 1)
        self.scale = 1 / n_streams

    def forward(self, x):
        z = self.trunk(x)
        if z.requires_grad:
            z.register_hook(lambda grad: grad * self.scale)
        a = self.adv(z)
        return self.val(z) + a - a.mean(1, keepdim=True)


class Memory:
    def __init__(self):
        self.rows = []

    def add(self, *row):
        self.rows.append(row)

    def batch(self, n):
        idx = np.random.randint(len(self.rows), size=n)
        s, a, r, s2, d = zip(*(self.rows[i] for i in idx))
        f = lambda x: torch.as_tensor(np.array(x), dtype=torch.float32)
        return f(s), torch.as_tensor(a), f(r), f(s2), f(d)

    def __len__(self):
        return len(self.rows)


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    q, target = Dueling(4, 2), Dueling(4, 2)
    target.load_state_dict(q.state_dict())
    opt = torch.optim.RMSprop(q.parameters(), lr=LR)
    memory, updates = Memory(), 0
    s, _ = env.reset(seed=0)
    for t in range(300):
        eps = max(0.1, 1 - t / 200)
        if np.random.rand() < eps:
            a = np.random.randint(2)
        else:
            with torch.no_grad():
                a = q(torch.as_tensor(s)[None]).argmax(1).item()
        s2, r, term, trunc, _ = env.step(a)
        memory.add(s, a, r, s2, float(term))
        s = env.reset()[0] if term or trunc else s2
        if len(memory) > 100 and t % 4 == 0:
            bs, ba, br, bs2, bd = memory.batch(BATCH)
            with torch.no_grad():
                best = q(bs2).argmax(1, keepdim=True)
                y = br + GAMMA * (1 - bd) * target(bs2).gather(1, best).squeeze(1)
            pred = q(bs).gather(1, ba[:, None]).squeeze(1)
            loss = F.smooth_l1_loss(pred, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
            if updates % SYNC == 0:
                target.load_state_dict(q.state_dict())
                print(f"t {t} updates {updates} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
