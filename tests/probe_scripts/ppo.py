"""PPO in one file: arguments, network, rollouts and losses from top to bottom, with synchronous vector environments."""

import argparse
import random
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch.distributions import Categorical


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--env-id", default="CartPole-v1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-timesteps", type=int, default=200_000)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=64)
    parser.add_argument("--num-minibatches", type=int, default=4)
    parser.add_argument("--update-epochs", type=int, default=4)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip-coef", type=float, default=0.2)
    parser.add_argument("--ent-coef", type=float, default=0.0)
    parser.add_argument("--vf-coef", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    args = parser.parse_args()
    args.batch_size = args.num_envs * args.num_steps
    args.minibatch_size = args.batch_size // args.num_minibatches
    return args


def make_env(env_id):
    def thunk():
        return gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))

    return thunk


def perceptron(inputs, outputs, last_gain):
    """Two hidden layers, initialised orthogonally."""
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        inputs = int(np.prod(envs.single_observation_space.shape))
        self.critic = perceptron(inputs, 1, last_gain=1.0)
        self.actor = perceptron(inputs, int(envs.single_action_space.n), last_gain=0.01)

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(x)


if __name__ == "__main__":
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    # An episode that ends is reset in the same step; the observation it ended with is in infos["final_obs"].
    envs = SyncVectorEnv([make_env(args.env_id) for _ in range(args.num_envs)], autoreset_mode=AutoresetMode.SAME_STEP)
    assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete actions are supported"

    agent = Agent(envs).to(device)
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros(shape + envs.single_observation_space.shape, device=device)
    actions = torch.zeros(shape, dtype=torch.long, device=device)
    logprobs = torch.zeros(shape, device=device)
    rewards = torch.zeros(shape, device=device)
    dones = torch.zeros(shape, device=device)
    values = torch.zeros(shape, device=device)
    next_values = torch.zeros(shape, device=device)

    global_step = 0
    start_time = time.time()
    next_obs, _ = envs.reset(seed=args.seed)
    next_obs = torch.as_tensor(next_obs, dtype=torch.float32, device=device)

    for update in range(1, args.total_timesteps // args.batch_size + 1):
        for step in range(args.num_steps):
            global_step += args.num_envs
            obs[step] = next_obs
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            actions[step], logprobs[step], values[step] = action, logprob, value.flatten()

            following, reward, terminations, truncations, infos = envs.step(action.cpu().numpy())
            next_obs = torch.as_tensor(following, dtype=torch.float32, device=device)
            ended = terminations | truncations
            rewards[step] = torch.as_tensor(reward, dtype=torch.float32, device=device)
            dones[step] = torch.as_tensor(ended, dtype=torch.float32, device=device)

            beyond = next_obs.clone()
            if ended.any():
                for i in np.flatnonzero(ended):
                    beyond[i] = torch.as_tensor(infos["final_obs"][i], dtype=torch.float32, device=device)
            with torch.no_grad():
                next_values[step] = agent.get_value(beyond).flatten()
            next_values[step][torch.as_tensor(terminations, device=device)] = 0.0

        with torch.no_grad():
            advantages = torch.zeros_like(rewards)
            running = torch.zeros(args.num_envs, device=device)
            for t in reversed(range(args.num_steps)):
                delta = rewards[t] + args.gamma * next_values[t] - values[t]
                running = delta + args.gamma * args.gae_lambda * (1.0 - dones[t]) * running
                advantages[t] = running
            returns = advantages + values

        flat_obs = obs.flatten(0, 1)
        flat_actions, old_logprobs = actions.flatten(), logprobs.flatten()
        flat_advantages, flat_returns = advantages.flatten(), returns.flatten()

        for _ in range(args.update_epochs):
            for rows in torch.randperm(args.batch_size, device=device).split(args.minibatch_size):
                _, logprob, entropy, value = agent.get_action_and_value(flat_obs[rows], flat_actions[rows])
                ratio = (logprob - old_logprobs[rows]).exp()
                advantage = flat_advantages[rows]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                value_loss = F.mse_loss(value.squeeze(1), flat_returns[rows])
                loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * entropy.mean()

                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        print(f"global_step={global_step} SPS={int(global_step / (time.time() - start_time))}")

    envs.close()
