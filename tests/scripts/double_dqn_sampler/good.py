import argparse
import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Machine:
    """Wear accumulates; run slow, run fast, or service. A breakdown is expensive."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def reset(self):
        self.wear, self.load = self.r.random() * 0.5, self.r.random()
        return [self.wear, self.load, self.wear * self.load]

    def step(self, action):
        if action == 2:
            self.wear, reward = 0.0, -0.5
        else:
            reward = (1.0 if action == 1 else 0.5) * self.load
            self.wear += (0.22 if action == 1 else 0.08) * (0.5 + self.r.random())
        if self.wear > 1:
            reward, self.wear = -3.0, 0.3
        self.load = min(1.0, max(0.0, self.load + self.r.uniform(-0.3, 0.3)))
        return [self.wear, self.load, self.wear * self.load], reward


class NStep:
    def __init__(self, n, gamma, cap=5000):
        self.window, self.data = collections.deque(maxlen=n), collections.deque(maxlen=cap)
        self.n, self.gamma = n, gamma

    def push(self, s, a, r, s2):
        self.window.append((s, a, r))
        if len(self.window) == self.n:
            ret = sum(self.gamma ** k * w[2] for k, w in enumerate(self.window))
            self.data.append((self.window[0][0], self.window[0][1], ret, s2))

    def batch(self, rnd, size):
        s, a, r, s2 = zip(*rnd.sample(self.data, size))
        return torch.tensor(s), torch.tensor(a).view(-1, 1), torch.tensor(r).view(-1, 1), torch.tensor(s2)


def build():
    return nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 3))


def td_loss(net, target, batch, gamma_n):
    s, a, r, s2 = batch
    with torch.no_grad():
        a2 = net(s2).argmax(1, keepdim=True)
        y = r + gamma_n * target(s2).gather(1, a2)
    q = net(s).gather(1, a)
    return F.smooth_l1_loss(q, y), q


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1400)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--nstep", type=int, default=3)
    parser.add_argument("--seed", type=int, default=14)
    opts = parser.parse_args()
    torch.manual_seed(opts.seed)
    rnd, env = random.Random(opts.seed), Machine(opts.seed)
    net, target = build(), build()
    target.load_state_dict(net.state_dict())
    optim = torch.optim.Adam(net.parameters(), lr=2e-3)
    memory, rewards, s = NStep(opts.nstep, opts.gamma), [], env.reset()
    for t in range(1, opts.steps + 1):
        explore = rnd.random() < max(0.08, 1 - t / 600)
        with torch.no_grad():
            a = rnd.randrange(3) if explore else int(net(torch.tensor(s)).argmax())
        s2, r = env.step(a)
        memory.push(s, a, r, s2)
        rewards.append(r)
        s = s2
        if t > 120 and t % 4 == 0:
            loss, q = td_loss(net, target, memory.batch(rnd, 64), opts.gamma ** opts.nstep)
            optim.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 10.0)
            optim.step()
        if t % 60 == 0:
            target.load_state_dict(net.state_dict())
        if t % 200 == 0:
            print(f"t {t} loss {loss.item():.3f} q {q.mean().item():+.2f} reward {sum(rewards[-200:]) / 200:+.3f}")


if __name__ == "__main__":
    main()
