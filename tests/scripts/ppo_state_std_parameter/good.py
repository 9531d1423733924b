import argparse
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.distributions.normal import Normal

torch.set_num_threads(1)


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class VecReach:
    """n arms that should move their tip to a goal; all of them restart together."""

    def __init__(self, n, horizon=16):
        self.n, self.horizon = n, horizon

    def reset(self):
        self.tip = torch.rand(self.n, 2) * 2 - 1
        self.goal = torch.rand(self.n, 2) * 2 - 1
        self.t = 0
        return torch.cat([self.tip, self.goal - self.tip], 1)

    def step(self, a):
        self.tip = self.tip + 0.2 * a.clamp(-1, 1)
        self.t += 1
        reward = -(self.tip - self.goal).norm(dim=1)
        return torch.cat([self.tip, self.goal - self.tip], 1), reward, self.t == self.horizon


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh(), layer_init(nn.Linear(64, 1), std=1.0))
        self.body = nn.Sequential(layer_init(nn.Linear(4, 64)), nn.Tanh())
        self.mean_head = layer_init(nn.Linear(64, 2), std=0.01)
        self.std_head = layer_init(nn.Linear(64, 2), std=0.01, bias_const=-0.5)

    def get_value(self, x):
        return self.critic(x).flatten()

    def get_action_and_value(self, x, action=None):
        h = self.body(x)
        mean = self.mean_head(h)
        logstd = self.std_head(h)
        dist = Normal(mean, logstd.exp())
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action).sum(1), dist.entropy().sum(1), self.get_value(x)


@dataclass
class Args:
    seed: int = 1
    num_envs: int = 8
    iterations: int = 5
    epochs: int = 3
    minibatch: int = 32
    gamma: float = 0.95
    lam: float = 0.9
    clip: float = 0.2
    ent_coef: float = 0.001
    lr: float = 3e-3


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=Args.seed)
    args = Args(seed=parser.parse_args().seed)
    torch.manual_seed(args.seed)
    envs, agent = VecReach(args.num_envs), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    for iteration in range(args.iterations):
        obs, rows, done = envs.reset(), [], False
        while not done:
            with torch.no_grad():
                action, logp, _, value = agent.get_action_and_value(obs)
            nxt, reward, done = envs.step(action)
            rows.append((obs, action, logp, value, reward))
            obs = nxt
        O, A, LP, V, R = (torch.stack(c) for c in zip(*rows))
        adv, last, next_v = torch.zeros_like(R), torch.zeros(args.num_envs), torch.zeros(args.num_envs)
        for t in reversed(range(len(rows))):
            delta = R[t] + args.gamma * next_v - V[t]
            last = adv[t] = delta + args.gamma * args.lam * last
            next_v = V[t]
        ret = (adv + V).flatten()
        O, A, LP, adv = O.flatten(0, 1), A.flatten(0, 1), LP.flatten(), adv.flatten()
        for epoch in range(args.epochs):
            for mb in torch.randperm(len(O)).split(args.minibatch):
                _, newlogp, entropy, newv = agent.get_action_and_value(O[mb], A[mb])
                ratio = (newlogp - LP[mb]).exp()
                mb_adv = (adv[mb] - adv[mb].mean()) / (adv[mb].std() + 1e-8)
                pg_loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
                v_loss = 0.5 * (newv - ret[mb]).pow(2).mean()
                loss = pg_loss + 0.5 * v_loss - args.ent_coef * entropy.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"iteration={iteration} reward={R.mean():.3f} v_loss={v_loss.item():.3f} entropy={entropy.mean().item():.3f}")
