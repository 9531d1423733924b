from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


@dataclass
class Cfg:
    envs: int = 16
    horizon: int = 16
    iters: int = 8
    epochs: int = 3
    minibatches: int = 2
    gamma: float = 0.95
    lam: float = 0.9
    clip: float = 0.2
    lr_pi: float = 2e-3
    lr_v: float = 4e-3


class Corridor:
    def __init__(self, n, seed):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.pos, self.goal = self._draw(n), self._draw(n)

    def _draw(self, n):
        return torch.randint(0, 7, (n,), generator=self.g)

    def obs(self):
        f = nn.functional.one_hot
        return torch.cat([f(self.pos, 7), f(self.goal, 7)], 1).float()

    def step(self, a):
        self.pos = (self.pos + a - 1).clamp(0, 6)
        hit = self.pos == self.goal
        rew = hit.float() - 0.05
        self.pos = torch.where(hit, self._draw(self.n), self.pos)
        self.goal = torch.where(hit, self._draw(self.n), self.goal)
        return self.obs(), rew, hit.float()


class Net(nn.Module):
    def __init__(self, obs=14, act=3, width=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.pi, self.v = nn.Linear(width, act), nn.Linear(width, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)

    def forward(self, x):
        z = self.trunk(x)
        return Categorical(logits=self.pi(z)), self.v(z).squeeze(-1)


def gae(rew, val, done, last, cfg):
    adv, run = torch.zeros_like(rew), torch.zeros(rew.shape[1])
    for t in reversed(range(len(rew))):
        delta = rew[t] + cfg.gamma * last * (1 - done[t]) - val[t]
        run = delta + cfg.gamma * cfg.lam * (1 - done[t]) * run
        adv[t], last = run, val[t]
    return adv, adv + val


def params_of(*modules):
    return [p for m in modules for p in m.parameters()]


def main(cfg=Cfg()):
    torch.manual_seed(0)
    env, net = Corridor(cfg.envs, 0), Net()
    opt_pi = torch.optim.Adam(params_of(net.trunk, net.pi), lr=cfg.lr_pi)
    opt_v = torch.optim.Adam(params_of(net.v), lr=cfg.lr_v)
    obs = env.obs()
    for it in range(cfg.iters):
        store = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
        with torch.no_grad():
            for _ in range(cfg.horizon):
                d, v = net(obs)
                a = d.sample()
                nxt, r, done = env.step(a)
                for k, x in zip(store, (obs, a, d.log_prob(a), v, r, done)):
                    store[k].append(x)
                obs = nxt
            last = net(obs)[1]
        b = {k: torch.stack(v) for k, v in store.items()}
        adv, ret = gae(b["rew"], b["val"], b["done"], last, cfg)
        flat = {k: v.flatten(0, 1) for k, v in {**b, "adv": adv, "ret": ret}.items()}
        size = len(flat["act"])
        for _ in range(cfg.epochs):
            for idx in torch.randperm(size).chunk(cfg.minibatches):
                d, v = net(flat["obs"][idx])
                ratio = (d.log_prob(flat["act"][idx]) - flat["logp"][idx]).exp()
                a = flat["adv"][idx]
                a = (a - a.mean()) / (a.std() + 1e-8)
                surrogate = torch.min(ratio * a, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * a).mean()
                loss = -surrogate + 0.5 * (v - flat["ret"][idx]).pow(2).mean() - 0.01 * d.entropy().mean()
                opt_pi.zero_grad()
                opt_v.zero_grad()
                loss.backward()
                opt_pi.step()
                opt_v.step()
        if it % 2 == 1:
            print(f"iter {it} reward {b['rew'].mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
