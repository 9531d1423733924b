"""PPO where a second network, the old policy, plays the games and is refreshed after each update."""

import hashlib

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Maze:
    """Five squares in a row with a trap at the left end and a prize at the right one."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.cell, self.time = int(self.rng.integers(1, 4)), 0
        return self.observe()

    def observe(self):
        return np.eye(5, dtype=np.float32)[self.cell]

    def step(self, action):
        self.cell += 1 if action == 1 else -1
        self.time += 1
        reward = {0: -1.0, 4: 1.0}.get(self.cell, -0.05)
        return self.observe(), reward, self.cell in (0, 4) or self.time >= 20


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 24), nn.Tanh(), nn.Linear(24, n_actions))
        self.critic = nn.Sequential(nn.Linear(n_obs, 24), nn.Tanh(), nn.Linear(24, 1))

    def act(self, obs):
        dist = Categorical(logits=self.actor(obs))
        action = dist.sample()
        return action, dist.log_prob(action)

    def evaluate(self, obs, action):
        dist = Categorical(logits=self.actor(obs))
        return dist.log_prob(action), self.critic(obs).squeeze(-1), dist.entropy()


class PPO:
    def __init__(self, clip=0.2, epochs=4, gamma=0.95):
        self.policy = ActorCritic(5, 2)
        self.optimizer = torch.optim.Adam(
            [
                {"params": self.policy.actor.parameters(), "lr": 5e-3},
                {"params": self.policy.critic.parameters(), "lr": 1e-2},
            ]
        )
        self.policy_old = ActorCritic(5, 2)
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.mse = nn.MSELoss()
        self.clip, self.epochs, self.gamma = clip, epochs, gamma

    def play(self, env, steps=64):
        observations, actions, old_logprobs, rewards, dones = [], [], [], [], []
        obs = env.reset()
        for _ in range(steps):
            obs = torch.from_numpy(obs)
            with torch.no_grad():
                action, old_logprob = self.policy_old.act(obs)
            next_obs, reward, done = env.step(action.item())
            observations.append(obs)
            actions.append(action)
            old_logprobs.append(old_logprob)
            rewards.append(reward)
            dones.append(done)
            obs = env.reset() if done else next_obs
        return observations, actions, old_logprobs, rewards, dones

    def returns(self, rewards, dones):
        returns, running = [], 0.0
        for reward, done in zip(reversed(rewards), reversed(dones), strict=True):
            running = reward + self.gamma * running * (1 - done)
            returns.insert(0, running)
        return torch.tensor(returns)

    def update(self, observations, actions, old_logprobs, returns):
        obs, action, old_logprobs = torch.stack(observations), torch.stack(actions), torch.stack(old_logprobs)
        for _ in range(self.epochs):
            logprobs, values, entropy = self.policy.evaluate(obs, action)
            ratios = torch.exp(logprobs - old_logprobs)
            advantages = returns - values.detach()
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.clip, 1 + self.clip) * advantages
            policy_loss = -torch.min(surr1, surr2)
            loss = policy_loss + 0.5 * self.mse(values, returns) - 0.01 * entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        self.policy_old.load_state_dict(self.policy.state_dict())


def digest(*modules):
    weights = [tensor.tolist() for module in modules for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    env, ppo = Maze(np.random.default_rng(6)), PPO()
    for iteration in range(10):
        observations, actions, old_logprobs, rewards, dones = ppo.play(env)
        ppo.update(observations, actions, old_logprobs, ppo.returns(rewards, dones))
        print(f"iteration {iteration}  reward {sum(rewards) / len(rewards):+.3f}")
    print("weights", digest(ppo.policy, ppo.policy_old))


if __name__ == "__main__":
    main()
