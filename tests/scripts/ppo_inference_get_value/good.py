import argparse
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.set_num_threads(1)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--num-envs", type=int, default=2)
    p.add_argument("--num-steps", type=int, default=32)
    p.add_argument("--total-updates", type=int, default=6)
    p.add_argument("--update-epochs", type=int, default=2)
    p.add_argument("--num-minibatches", type=int, default=2)
    p.add_argument("--gae-lambda", type=float, default=0.95)
    p.add_argument("--gamma", type=float, default=0.99)
    return p.parse_args()


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 2), std=0.01))

    @torch.inference_mode()
    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


if __name__ == "__main__":
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = [gym.make("CartPole-v1") for _ in range(args.num_envs)]
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    T, N = args.num_steps, args.num_envs
    obs, actions = torch.zeros(T, N, 4), torch.zeros(T, N)
    logprobs, rewards, dones, values = (torch.zeros(T, N) for _ in range(4))
    next_obs = torch.tensor(np.stack([e.reset(seed=i)[0] for i, e in enumerate(envs)]))
    next_done = torch.zeros(N)
    for update in range(args.total_updates):
        for t in range(T):
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            actions[t], logprobs[t], values[t] = action, logprob, value.flatten()
            rows, flags = [], []
            for i, e in enumerate(envs):
                o, r, te, tr, _ = e.step(int(action[i]))
                rewards[t, i] = r
                rows.append(e.reset()[0] if te or tr else o)
                flags.append(float(te or tr))
            next_obs, next_done = torch.tensor(np.stack(rows)), torch.tensor(flags)
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(-1)
            adv, last = torch.zeros(T, N), 0
            for t in reversed(range(T)):
                nonterm = 1.0 - (next_done if t == T - 1 else dones[t + 1])
                nv = next_value if t == T - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * nv * nonterm - values[t]
                adv[t] = last = delta + args.gamma * args.gae_lambda * nonterm * last
            returns = adv + values
        b_obs, b_act, b_logp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_adv, b_ret = adv.reshape(-1), returns.reshape(-1)
        inds = np.arange(T * N)
        for epoch in range(args.update_epochs):
            np.random.shuffle(inds)
            for mb in np.array_split(inds, args.num_minibatches):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb].long())
                ratio = (newlogprob - b_logp[mb]).exp()
                a = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
                pg_loss = torch.max(-a * ratio, -a * torch.clamp(ratio, 0.8, 1.2)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_ret[mb]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"update {update} v_loss {v_loss.item():.3f} pg {pg_loss.item():.4f}")
