"""DQN in one file: a replay buffer of its own, epsilon-greedy exploration, a target network that is copied."""

import argparse
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--env-id", default="CartPole-v1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-timesteps", type=int, default=100_000)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--buffer-size", type=int, default=10_000)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--target-network-frequency", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--start-e", type=float, default=1.0)
    parser.add_argument("--end-e", type=float, default=0.05)
    parser.add_argument("--exploration-steps", type=int, default=5_000)
    parser.add_argument("--learning-starts", type=int, default=1_000)
    parser.add_argument("--train-frequency", type=int, default=4)
    return parser.parse_args()


class ReplayBuffer:
    def __init__(self, size, observation_shape, seed):
        self.obs = np.zeros((size, *observation_shape), np.float32)
        self.next_obs = np.zeros_like(self.obs)
        self.actions = np.zeros(size, np.int64)
        self.rewards = np.zeros(size, np.float32)
        self.terminations = np.zeros(size, np.float32)
        self.rng = np.random.default_rng(seed)
        self.size, self.added = size, 0

    def add(self, obs, next_obs, action, reward, termination):
        i = self.added % self.size
        self.obs[i], self.next_obs[i] = obs, next_obs
        self.actions[i], self.rewards[i], self.terminations[i] = action, reward, termination
        self.added += 1

    def sample(self, batch_size):
        rows = self.rng.integers(min(self.added, self.size), size=batch_size)
        columns = (self.obs, self.next_obs, self.actions, self.rewards, self.terminations)
        return [torch.from_numpy(column[rows]) for column in columns]


class QNetwork(nn.Module):
    def __init__(self, env):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(int(np.prod(env.observation_space.shape)), 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, int(env.action_space.n)),
        )

    def forward(self, x):
        return self.network(x)


def main():
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    env = gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id))
    env.action_space.seed(args.seed)
    q_network = QNetwork(env)
    target_network = QNetwork(env)
    target_network.load_state_dict(q_network.state_dict())
    optimizer = optim.Adam(q_network.parameters(), lr=args.learning_rate)
    buffer = ReplayBuffer(args.buffer_size, env.observation_space.shape, args.seed)

    obs, _ = env.reset(seed=args.seed)
    for global_step in range(args.total_timesteps):
        explored = min(global_step / args.exploration_steps, 1.0)
        epsilon = (1 - explored) * args.start_e + explored * args.end_e
        if random.random() < epsilon:
            action = env.action_space.sample()
        else:
            action = int(q_network(torch.as_tensor(obs).unsqueeze(0)).argmax(dim=1))

        next_obs, reward, termination, truncation, info = env.step(action)
        buffer.add(obs, next_obs, action, reward, termination)
        obs = next_obs
        if termination or truncation:
            print(f"global_step={global_step}, episodic_return={info['episode']['r']}")
            obs, _ = env.reset()

        if global_step >= args.learning_starts and global_step % args.train_frequency == 0:
            seen, following, taken, earned, over = buffer.sample(args.batch_size)
            with torch.no_grad():
                best = target_network(following).max(dim=1).values
                td_target = earned + args.gamma * best * (1 - over)
            q_value = q_network(seen).gather(1, taken.unsqueeze(1)).squeeze(1)
            loss = F.mse_loss(q_value, td_target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        if global_step % args.target_network_frequency == 0:
            target_network.load_state_dict(q_network.state_dict())

    env.close()


if __name__ == "__main__":
    main()
