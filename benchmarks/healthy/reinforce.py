"""REINFORCE with a learned baseline on a balancing stick: two networks, two optimizers, one episode per update."""

import hashlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Stick:
    """An unstable angle; pushing left or right keeps it up. One point per step until it falls."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.angle, self.speed, self.time = self.rng.uniform(-0.1, 0.1), 0.0, 0
        return np.array([self.angle, self.speed], dtype=np.float32)

    def step(self, action):
        self.speed += 0.1 * self.angle + (0.04 if action == 1 else -0.04) + self.rng.normal(0, 0.005)
        self.angle += self.speed
        self.time += 1
        fallen = abs(self.angle) > 0.5
        return np.array([self.angle, self.speed], dtype=np.float32), 1.0, fallen or self.time >= 40


def discounted(rewards, gamma):
    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + gamma * running
        returns.append(running)
    return torch.tensor(returns[::-1]) / 10


class Learner:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.baseline = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.baseline_optimizer = torch.optim.Adam(self.baseline.parameters(), lr=1e-2)

    def episode(self, env):
        log_probs, values, rewards = [], [], []
        obs, done = env.reset(), False
        while not done:
            obs = torch.from_numpy(obs)
            dist = Categorical(logits=self.policy(obs))
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            values.append(self.baseline(obs).squeeze(-1))
            obs, reward, done = env.step(action.item())
            rewards.append(reward)
        return torch.stack(log_probs), torch.stack(values), rewards

    def update(self, log_probs, values, rewards, gamma=0.98):
        returns = discounted(rewards, gamma)
        advantage = returns - values.detach()
        policy_loss = -(log_probs * advantage).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()
        baseline_loss = F.mse_loss(values, returns)
        self.baseline_optimizer.zero_grad()
        baseline_loss.backward()
        self.baseline_optimizer.step()
        return policy_loss.item(), baseline_loss.item()


def digest(*modules):
    weights = [tensor.tolist() for module in modules for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(episodes=40):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    env, learner = Stick(seed=3), Learner()
    lengths = []
    for _ in range(episodes):
        log_probs, values, rewards = learner.episode(env)
        learner.update(log_probs, values, rewards)
        lengths.append(len(rewards))
    print(f"length {np.mean(lengths[:10]):.1f} -> {np.mean(lengths[-10:]):.1f}")
    print("weights", digest(learner.policy, learner.baseline))


if __name__ == "__main__":
    main()
