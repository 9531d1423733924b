import copy
import random
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Pursuit:
    """predator (0) and prey (1) on a torus; the predator is paid for closeness, the prey for distance"""

    def __init__(self, n):
        self.n = n
        self.p = torch.rand(n, 2, 2) * 2 - 1

    def obs(self):
        rel = self.p[:, 1] - self.p[:, 0]
        rel = (rel + 1) % 2 - 1
        return torch.stack([torch.cat([rel, self.p[:, 0]], 1), torch.cat([-rel, self.p[:, 1]], 1)], 1)

    def step(self, acts):
        speed = torch.tensor([0.22, 0.18]).view(1, 2, 1)
        self.p = (self.p + speed * acts + 1) % 2 - 1
        o = self.obs()
        d = o[:, 0, :2].norm(dim=1)
        return o, torch.stack([-d, d], 1)


def mlp(i, o, *tail):
    return nn.Sequential(nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, o), *tail)


def make_player():
    p = SimpleNamespace(actor=mlp(4, 2, nn.Tanh()), critic=mlp(8 + 4, 1))
    p.slow_actor, p.slow_critic = copy.deepcopy(p.actor), copy.deepcopy(p.critic)
    p.opt_actor = torch.optim.Adam(p.actor.parameters(), lr=1e-3)
    p.opt_critic = torch.optim.Adam(p.critic.parameters(), lr=2e-3)
    return p


def joint(obs, acts):
    return torch.cat([obs.flatten(1), acts.flatten(1)], 1)


def train_critics(players, o, a, r, o2, gamma=0.9):
    with torch.no_grad():
        a2 = torch.stack([p.slow_actor(o2[:, i]) for i, p in enumerate(players)], 1)
    total = 0.0
    for i, p in enumerate(players):
        with torch.no_grad():
            y = r[:, i] + gamma * p.slow_critic(joint(o2, a2)).squeeze(1)
        loss = (p.critic(joint(o, a)).squeeze(1) - y).square().mean()
        p.opt_critic.zero_grad()
        loss.backward()
        p.opt_critic.step()
        total += loss.item()
    return total


def train_actors(players, o):
    for p in players:
        p.opt_actor.zero_grad()
    for i, p in enumerate(players):
        acts = [q.actor(o[:, j]) for j, q in enumerate(players)]
        acts = torch.stack([a if j == i else a.detach() for j, a in enumerate(acts)], 1)
        loss = -p.critic(joint(o, acts)).mean()
        loss.backward()
    for p in players:
        p.opt_actor.step()


@torch.no_grad()
def polyak(players, tau=0.02):
    for p in players:
        for a, b in ((p.actor, p.slow_actor), (p.critic, p.slow_critic)):
            for x, y in zip(a.parameters(), b.parameters()):
                y.lerp_(x, tau)


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, players, mem = Pursuit(16), [make_player(), make_player()], []
    obs = env.obs()
    for t in range(160):
        with torch.no_grad():
            acts = torch.stack([p.actor(obs[:, i]) for i, p in enumerate(players)], 1)
        acts = (acts + 0.3 * torch.randn_like(acts)).clamp(-1, 1)
        nxt, rew = env.step(acts)
        mem.append((obs, acts, rew, nxt))
        obs = nxt
        if t < 8:
            continue
        o, a, r, o2 = (torch.cat(c) for c in zip(*random.sample(mem, 4)))
        c_loss = train_critics(players, o, a, r, o2)
        train_actors(players, o)
        polyak(players)
        if t % 40 == 39:
            print(f"t {t} critics {c_loss:.4f} mean distance {rew[:, 1].mean():.3f}")


if __name__ == "__main__":
    main()
