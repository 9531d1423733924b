import random
from collections import deque, namedtuple

import torch
import torch.nn as nn

torch.set_num_threads(1)
Step = namedtuple("Step", "obs act rew nxt end")


class Corridor:
    """Walk right through slippery cells; the far end pays 1, falling back pays nothing."""

    n = 8

    def reset(self):
        self.x, self.t = 1, 0
        return self._obs()

    def _obs(self):
        o = torch.zeros(self.n)
        o[self.x] = 1.0
        return o

    def step(self, a):
        move = 1 if a == 1 else -1
        if random.random() < 0.15:
            move = -move
        self.x = max(0, min(self.n - 1, self.x + move))
        self.t += 1
        won = self.x == self.n - 1
        return self._obs(), float(won) - 0.02, won, self.t >= 40


class Categorical51(nn.Module):
    def __init__(self, n_in, n_act, n_atoms=21, lo=-1.0, hi=1.0):
        super().__init__()
        self.n_act, self.n_atoms, self.lo, self.hi = n_act, n_atoms, lo, hi
        self.register_buffer("z", torch.linspace(lo, hi, n_atoms))
        self.body = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh(), nn.Linear(64, n_act * n_atoms))

    def log_dist(self, x):
        return self.body(x).view(-1, self.n_act, self.n_atoms).log_softmax(-1)

    def greedy(self, x):
        return (self.log_dist(x).exp() * self.z).sum(-1).argmax(1)


def project(model, nxt, rew, end, gamma):
    dist = model.log_dist(nxt).exp()  # <- culprit
    best = (dist * model.z).sum(-1).argmax(1)
    p = dist[torch.arange(len(best)), best]
    step = (model.hi - model.lo) / (model.n_atoms - 1)
    tz = (rew[:, None] + gamma * (1 - end[:, None]) * model.z).clamp(model.lo, model.hi)
    b = ((tz - model.lo) / step).clamp(0, model.n_atoms - 1)
    left = b.floor().long().clamp(max=model.n_atoms - 2)
    frac = b - left
    m = torch.zeros_like(p)
    m = m.scatter_add(1, left, p * (1 - frac))
    return m.scatter_add(1, left + 1, p * frac)  # <- culprit


def collate(rows):
    s = Step(*zip(*rows))
    return (torch.stack(s.obs), torch.tensor(s.act), torch.tensor(s.rew), torch.stack(s.nxt), torch.tensor(s.end))


def main(seed=3, frames=700, batch=32, gamma=0.97):
    random.seed(seed)
    torch.manual_seed(seed)
    env, memory = Corridor(), deque(maxlen=4000)
    model = Categorical51(env.n, 2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    obs, ret, history = env.reset(), 0.0, []
    for frame in range(1, frames + 1):
        if random.random() < max(0.1, 1 - frame / 400):
            act = random.randrange(2)
        else:
            with torch.no_grad():
                act = int(model.greedy(obs[None]))
        nxt, rew, won, out_of_time = env.step(act)
        memory.append(Step(obs, act, rew, nxt, float(won)))
        ret += rew
        obs = nxt
        if won or out_of_time:
            history.append(ret)
            obs, ret = env.reset(), 0.0
        if frame < 100 or frame % 2:
            continue
        o, a, r, o2, d = collate(random.sample(memory, batch))
        target = project(model, o2, r, d, gamma)  # <- culprit
        logp = model.log_dist(o)[torch.arange(batch), a]
        loss = -(target * logp).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if frame % 100 == 0:
            print(f"frame {frame:4d} xent {loss.item():.3f} return {sum(history[-8:]) / max(1, len(history[-8:])):+.2f}")


if __name__ == "__main__":
    main()
