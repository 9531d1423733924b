import itertools
import math
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)


def mlp(sizes, activation=nn.Tanh):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(activation())
    return nn.Sequential(*layers)


class MLPActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=(48,)):
        super().__init__()
        self.pi = mlp([obs_dim, *hidden, 2 * act_dim])
        self.q1 = mlp([obs_dim + act_dim, *hidden, 1])
        self.q2 = mlp([obs_dim + act_dim, *hidden, 1])

    def sample(self, obs):
        mu, log_std = self.pi(obs).chunk(2, -1)
        dist = Normal(mu, log_std.clamp(-4, 1).exp())
        u = dist.rsample()
        logp = (dist.log_prob(u) - 2 * (math.log(2) - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp

    def q(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class Drone:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-1, 1), 0.0, 0
        return np.array([self.x, self.v], np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.1 * float(a)
        self.x = float(np.clip(self.x + self.v, -2, 2))
        self.t += 1
        return np.array([self.x, self.v], np.float32), -abs(self.x), self.t >= 25


def sac(steps=360, update_after=80, batch_size=32, gamma=0.93, polyak=0.98, alpha=0.03, lr=2e-3, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env, ac, buf = Drone(rng), MLPActorCritic(2, 1), []
    ac_targ = deepcopy(ac)
    for p in ac_targ.parameters():
        p.requires_grad = False
    q_params = list(itertools.chain(ac.q1.parameters(), ac.q2.parameters()))
    pi_optimizer = torch.optim.Adam(ac.pi.parameters(), lr=lr)
    q_optimizer = torch.optim.Adam(q_params, lr=lr)

    def compute_loss_q(o, a, r, o2):
        q1, q2 = ac.q(o, a)
        with torch.no_grad():
            a2, logp_a2 = ac.sample(o2)
            backup = r + gamma * (torch.min(*ac_targ.q(o2, a2)) - alpha * logp_a2)
        return F.mse_loss(q1, backup) + F.mse_loss(q2, backup)

    def compute_loss_pi(o):
        pi, logp_pi = ac.sample(o)
        return (alpha * logp_pi - torch.min(*ac.q(o, pi))).mean()

    def update(o, a, r, o2):
        q_optimizer.zero_grad()
        loss_q = compute_loss_q(o, a, r, o2)
        loss_q.backward()
        q_optimizer.step()
        for p in q_params:
            p.requires_grad = False
        pi_optimizer.zero_grad()
        loss_pi = compute_loss_pi(o)
        loss_pi.backward()
        pi_optimizer.step()
        for p in q_params:
            p.requires_grad = True
        with torch.no_grad():
            for p, p_targ in zip(ac.parameters(), ac_targ.parameters()):
                p_targ.mul_(polyak).add_((1 - polyak) * p)
        return loss_q.item(), loss_pi.item()

    o, ep_ret = env.reset(), 0.0
    for t in range(steps):
        with torch.no_grad():
            a = ac.sample(torch.from_numpy(o))[0].numpy()
        o2, r, d = env.step(a[0])
        buf.append((o, a, np.float32(r), o2))
        o, ep_ret = o2, ep_ret + r
        if t >= update_after and t % 2 == 0:
            rows = [buf[i] for i in rng.integers(0, len(buf), batch_size)]
            losses = update(*(torch.tensor(np.array(c)) for c in zip(*rows)))
        if d:
            if t > update_after:
                print(f"t {t} return {ep_ret:.2f} q {losses[0]:.4f} pi {losses[1]:+.4f}")
            o, ep_ret = env.reset(), 0.0


if __name__ == "__main__":
    sac()
