import random
from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.set_num_threads(1)


@dataclass
class Args:
    seed: int = 1
    learning_rate: float = 1e-3
    num_envs: int = 4
    num_steps: int = 32
    update_epochs: int = 2
    num_minibatches: int = 2
    iterations: int = 6
    clip_coef: float = 0.2
    vf_coef: float = 0.5
    gammas: tuple = (0.9, 0.99)


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, envs, gammas):
        super().__init__()
        n = int(np.prod(envs.single_observation_space.shape))
        self.network = nn.Sequential(layer_init(nn.Linear(n, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh())
        self.actor = layer_init(nn.Linear(64, envs.single_action_space.n), std=0.01)
        make_head = partial(nn.Linear, 64, 1)
        self.critics = {str(g): layer_init(make_head(), std=1.0) for g in gammas}

    def get_values(self, x):
        h = self.network(x)
        return torch.cat([head(h) for head in self.critics.values()], -1)

    def get_action_and_values(self, x, action=None):
        h = self.network(x)
        probs = Categorical(logits=self.actor(h))
        if action is None:
            action = probs.sample()
        values = torch.cat([head(h) for head in self.critics.values()], -1)
        return action, probs.log_prob(action), probs.entropy(), values


if __name__ == "__main__":
    args = Args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(args.num_envs)])
    agent = Agent(envs, args.gammas)
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)  # <- culprit
    gammas = torch.tensor(args.gammas)
    next_obs = torch.Tensor(envs.reset(seed=args.seed)[0])
    for iteration in range(args.iterations):
        obs, acts, logps, rews, dones, vals = [], [], [], [], [], []
        for _ in range(args.num_steps):
            with torch.no_grad():
                action, logp, _, v = agent.get_action_and_values(next_obs)
            obs.append(next_obs), acts.append(action), logps.append(logp), vals.append(v)
            o, r, term, trunc, _ = envs.step(action.numpy())
            rews.append(torch.tensor(r, dtype=torch.float32))
            dones.append(torch.tensor(np.logical_or(term, trunc), dtype=torch.float32))
            next_obs = torch.Tensor(o)
        with torch.no_grad():
            ret = agent.get_values(next_obs)
            returns = []
            for t in reversed(range(args.num_steps)):
                ret = rews[t][:, None] + gammas * ret * (1 - dones[t])[:, None]
                returns.insert(0, ret)
        b_obs, b_act, b_logp = torch.cat(obs), torch.cat(acts), torch.cat(logps)
        b_ret, b_val = torch.cat(returns), torch.cat(vals)
        b_adv = (b_ret - b_val)[:, -1]
        for epoch in range(args.update_epochs):
            for mb in torch.randperm(len(b_obs)).chunk(args.num_minibatches):
                _, newlogp, entropy, newv = agent.get_action_and_values(b_obs[mb], b_act[mb])
                ratio = (newlogp - b_logp[mb]).exp()
                adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
                v_loss = 0.5 * ((newv - b_ret[mb]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"iteration {iteration} v_loss {v_loss.item():.3f} pg {pg_loss.item():+.4f}")
