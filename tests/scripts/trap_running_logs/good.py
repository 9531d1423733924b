import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class History:
    def __init__(self):
        self.losses, self.q_values, self.errors = [], [], collections.deque(maxlen=500)
        self.smooth = torch.zeros(())
        self.best, self.best_weights = -np.inf, None

    def record(self, net, loss, q, error, score):
        self.losses.append(loss.detach())
        self.q_values.append(q.mean().item())
        self.errors.extend(error.detach().abs().tolist())
        self.smooth = 0.95 * self.smooth + 0.05 * loss.detach()
        if score > self.best:
            self.best = score
            self.best_weights = {k: v.detach().clone() for k, v in net.state_dict().items()}

    def __str__(self):
        return f"loss {self.smooth:.4f} mean {torch.stack(self.losses).mean():.4f} q {np.mean(self.q_values[-20:]):.3f}"


class Frog:
    """cross five lanes; each lane blocks with its own probability"""

    block = [0.1, 0.5, 0.2, 0.6, 0.3]

    def reset(self):
        self.lane, self.t = 0, 0
        return self.obs()

    def obs(self):
        self.busy = random.random() < self.block[min(self.lane, 4)]
        return np.array([*(float(i == self.lane) for i in range(5)), float(self.busy)], np.float32)

    def step(self, go):
        self.t += 1
        if go and self.busy:
            return np.zeros(6, np.float32), -1.0, True
        self.lane += int(go)
        if self.lane == 5:
            return np.zeros(6, np.float32), 1.0, True
        return self.obs(), -0.02, self.t > 30


def main():
    random.seed(91)
    torch.manual_seed(91)
    env, log, mem = Frog(), History(), collections.deque(maxlen=3000)
    net = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 2))
    slow = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 2)).requires_grad_(False)
    slow.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    returns, o, ret = [], env.reset(), 0.0
    for t in range(900):
        if random.random() < 0.2:
            a = random.randrange(2)
        else:
            with torch.no_grad():
                a = int(net(torch.from_numpy(o)[None]).argmax())
        o2, r, done = env.step(a)
        mem.append((o, a, r, o2, done))
        o, ret = o2, ret + r
        if done:
            returns.append(ret)
            o, ret = env.reset(), 0.0
        if t < 100 or t % 3:
            continue
        s, act, rew, s2, d = (torch.from_numpy(np.array(c)) for c in zip(*random.sample(mem, 32)))
        q = net(s).gather(1, act[:, None]).squeeze(1)
        y = rew.float() + 0.95 * (~d).float() * slow(s2).max(1).values
        error = y - q
        loss = F.huber_loss(q, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.record(net, loss, q, error, np.mean(returns[-10:]) if returns else -np.inf)
        if t % 30 == 0:
            slow.load_state_dict(net.state_dict())
        if t % 180 == 0:
            print(f"t {t} {log} return {np.mean(returns[-10:]):+.2f}")


if __name__ == "__main__":
    main()
