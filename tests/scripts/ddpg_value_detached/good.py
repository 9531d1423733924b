import copy
import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.optim import Adam

torch.set_num_threads(1)

SEED, GAMMA, POLYAK, BATCH = 7, 0.97, 0.98, 32


def mlp(*sizes, out=nn.Identity):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU() if i < len(sizes) - 2 else out()]
    return nn.Sequential(*layers)


class Nets(nn.Module):
    def __init__(self, obs_dim, act_dim, limit):
        super().__init__()
        self.pi = mlp(obs_dim, 48, 48, act_dim, out=nn.Tanh)
        self.q = mlp(obs_dim + act_dim, 48, 48, 1)
        self.limit = limit

    def action(self, o):
        return self.limit * self.pi(o)

    def value(self, o, a):
        return self.q(torch.cat([o, a], -1)).squeeze(-1)


def q_loss(nets, target, data):
    with torch.no_grad():
        backup = data["r"] + GAMMA * target.value(data["o2"], target.action(data["o2"]))
    return ((nets.value(data["o"], data["a"]) - backup) ** 2).mean()


def pi_loss(nets, data):
    q = nets.value(data["o"], nets.action(data["o"]))
    return -q.mean()


def sample(buffer):
    rows = random.sample(buffer, BATCH)
    return {k: torch.tensor(np.array([row[k] for row in rows]), dtype=torch.float32) for k in rows[0]}


def main():
    random.seed(SEED)
    torch.manual_seed(SEED)
    env = gym.make("Pendulum-v1")
    nets = Nets(3, 1, limit=2.0)
    target = copy.deepcopy(nets)
    pi_opt, q_opt = Adam(nets.pi.parameters(), lr=1e-3), Adam(nets.q.parameters(), lr=1e-3)
    buffer, updates = [], 0
    o, _ = env.reset(seed=SEED)
    for t in range(360):
        with torch.no_grad():
            a = nets.action(torch.tensor(o)).numpy()
        a = np.clip(a + 0.3 * np.random.default_rng(t).normal(size=1), -2, 2).astype(np.float32)
        o2, r, _, truncated, _ = env.step(a)
        buffer.append({"o": o, "a": a, "r": r / 10, "o2": o2})
        o = env.reset()[0] if truncated else o2
        if t < 100 or t % 5:
            continue
        data = sample(buffer)

        q_opt.zero_grad()
        loss_q = q_loss(nets, target, data)
        loss_q.backward()
        q_opt.step()

        pi_opt.zero_grad()
        loss_pi = pi_loss(nets, data)
        loss_pi.backward()
        pi_opt.step()

        with torch.no_grad():
            for p, pt in zip(nets.parameters(), target.parameters()):
                pt.mul_(POLYAK).add_((1 - POLYAK) * p)
        updates += 1
        if updates % 10 == 0:
            print(f"step {t} updates {updates} q {loss_q.item():.3f} pi {loss_pi.item():.3f}")


if __name__ == "__main__":
    main()
