"""PPO on CartPole in one file: 25,000 environment steps in rollouts of 128 by 4, as such scripts are written."""

import argparse

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


def layer_init(layer, std=np.sqrt(2), bias=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(4, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(4, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 2), std=0.01),
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    np.random.seed(1)
    device = torch.device("cpu")
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(args.envs)])
    agent = Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    obs = torch.zeros((args.steps, args.envs, 4)).to(device)
    actions = torch.zeros((args.steps, args.envs)).to(device)
    logprobs = torch.zeros((args.steps, args.envs)).to(device)
    rewards = torch.zeros((args.steps, args.envs)).to(device)
    dones = torch.zeros((args.steps, args.envs)).to(device)
    values = torch.zeros((args.steps, args.envs)).to(device)
    next_obs, _ = envs.reset(seed=1)
    next_obs, next_done = torch.Tensor(next_obs).to(device), torch.zeros(args.envs).to(device)
    batch = args.steps * args.envs
    for iteration in range(args.total // batch):
        optimizer.param_groups[0]["lr"] = (1.0 - iteration / (args.total // batch)) * 2.5e-4
        for step in range(args.steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step], logprobs[step] = action, logprob
            next_obs, reward, terminations, truncations, _ = envs.step(action.cpu().numpy())
            next_done = np.logical_or(terminations, truncations)
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            next_obs, next_done = torch.Tensor(next_obs).to(device), torch.Tensor(next_done).to(device)
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards).to(device)
            last = 0
            for t in reversed(range(args.steps)):
                if t == args.steps - 1:
                    nonterminal, following = 1.0 - next_done, next_value
                else:
                    nonterminal, following = 1.0 - dones[t + 1], values[t + 1]
                delta = rewards[t] + 0.99 * following * nonterminal - values[t]
                advantages[t] = last = delta + 0.99 * 0.95 * nonterminal * last
            returns = advantages + values
        b_obs, b_actions, b_logprobs = obs.reshape((-1, 4)), actions.reshape(-1), logprobs.reshape(-1)
        b_advantages, b_returns, b_values = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)
        order = np.arange(batch)
        for _ in range(4):
            np.random.shuffle(order)
            for start in range(0, batch, batch // 4):
                mb = order[start : start + batch // 4]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions.long()[mb])
                logratio = newlogprob - b_logprobs[mb]
                ratio = logratio.exp()
                adv = b_advantages[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 0.8, 1.2)).mean()
                newvalue = newvalue.view(-1)
                unclipped = (newvalue - b_returns[mb]) ** 2
                clipped = b_values[mb] + torch.clamp(newvalue - b_values[mb], -0.2, 0.2)
                v_loss = 0.5 * torch.max(unclipped, (clipped - b_returns[mb]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    print("weights", sum(p.double().sum().item() for p in agent.parameters()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--total", type=int, default=25_000)
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=128)
    main(parser.parse_args())
