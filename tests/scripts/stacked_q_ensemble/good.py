import copy
import numpy as np
import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

torch.set_num_threads(1)


class QNet(nn.Module):
    def __init__(self, n_obs=6, n_act=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU(), nn.Linear(32, n_act))

    def forward(self, x):
        return self.net(x)


class RiverSwim:
    """6 states, swim left / right / wait."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = 1
        self.t = 0
        return self.s

    def step(self, a):
        self.t += 1
        if a == 1 and self.rng.random() < 0.7:
            self.s = min(5, self.s + 1)
        elif a == 0:
            self.s = max(0, self.s - 1)
        r = 1.0 if self.s == 5 else (0.05 if self.s == 0 else 0.0)
        return self.s, r, self.t >= 20


def onehot(states):
    return torch.eye(6)[torch.as_tensor(states)]


class Bootstrapped:
    def __init__(self, k=5, lr=3e-3, gamma=0.95):
        self.k, self.gamma = k, gamma
        members = [QNet() for _ in range(k)]
        self.params, self.buffers = stack_module_state(members)
        self.opt = torch.optim.Adam(self.params.values(), lr=lr)
        self.skeleton = copy.deepcopy(members[0]).to("meta")
        self.target = {n: p.detach().clone() for n, p in self.params.items()}

    def q(self, params, x):
        return vmap(lambda p, b: functional_call(self.skeleton, (p, b), (x,)))(params, self.buffers)

    def update(self, s, a, r, s2, d, mask):
        with torch.no_grad():
            y = r + self.gamma * (1 - d) * self.q(self.target, s2).max(-1).values
        chosen = self.q(self.params, s).gather(-1, a.expand(self.k, -1).unsqueeze(-1)).squeeze(-1)
        loss = ((chosen - y).pow(2) * mask).sum() / mask.sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def sync(self):
        self.target = {n: p.detach().clone() for n, p in self.params.items()}


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, agent, mem = RiverSwim(rng), Bootstrapped(), []
    for ep in range(30):
        s, done, total, head = env.reset(), False, 0.0, rng.integers(5)
        while not done:
            with torch.no_grad():
                a = int(agent.q(agent.params, onehot([s]))[head, 0].argmax()) if rng.random() > 0.2 else int(rng.integers(3))
            s2, r, done = env.step(a)
            mem.append((s, a, r, s2, float(done), rng.random(5) < 0.6))
            s, total = s2, total + r
        idx = rng.integers(len(mem), size=32)
        cs, ca, cr, cs2, cd, cm = zip(*(mem[i] for i in idx))
        loss = agent.update(onehot(cs), torch.tensor(ca), torch.tensor(cr, dtype=torch.float32), onehot(cs2),
                            torch.tensor(cd, dtype=torch.float32), torch.tensor(np.array(cm)).float().t())
        if ep % 5 == 0:
            agent.sync()
            print(f"episode {ep} return {total:.2f} loss {loss:.4f}")


if __name__ == "__main__":
    main()
