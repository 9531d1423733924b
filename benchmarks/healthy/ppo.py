"""PPO with pre-allocated rollout buffers, GAE, epochs of shuffled minibatches and gradient clipping."""

import hashlib

import torch
import torch.nn as nn
from torch.distributions import Normal

N_ENVS, N_STEPS, EPOCHS, MINIBATCH = 16, 16, 3, 64
GAMMA, LAMBDA, CLIP = 0.9, 0.9, 0.2


class Points:
    """Points in the plane that drift; a push should bring them to the origin."""

    def __init__(self, generator):
        self.generator = generator
        self.position = torch.randn(N_ENVS, 2, generator=generator)

    def step(self, action):
        drift = 0.05 * torch.randn(N_ENVS, 2, generator=self.generator)
        self.position = self.position + 0.4 * action.clamp(-1, 1) + drift
        reward = -self.position.norm(dim=1)
        done = torch.rand(N_ENVS, generator=self.generator) < 0.05
        fresh = torch.randn(N_ENVS, 2, generator=self.generator)
        self.position = torch.where(done[:, None], fresh, self.position)
        return self.position, reward, done.float()


class Agent(nn.Module):
    def __init__(self, n_obs=2, n_actions=2):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_actions))
        self.critic = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.full((n_actions,), -0.7))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)

    def evaluate(self, obs, action=None):
        dist = Normal(self.actor(obs), self.log_std.exp())
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action).sum(-1), dist.entropy().sum(-1), self.value(obs)


def collect(agent, env, obs):
    observations, actions = torch.zeros(N_STEPS, N_ENVS, 2), torch.zeros(N_STEPS, N_ENVS, 2)
    old_log_probs, values = torch.zeros(N_STEPS, N_ENVS), torch.zeros(N_STEPS, N_ENVS)
    rewards, dones = torch.zeros(N_STEPS, N_ENVS), torch.zeros(N_STEPS, N_ENVS)
    for t in range(N_STEPS):
        observations[t] = obs
        with torch.no_grad():
            actions[t], old_log_probs[t], _, values[t] = agent.evaluate(obs)
        obs, rewards[t], dones[t] = env.step(actions[t])
    with torch.no_grad():
        last_value = agent.value(obs)
    advantages = gae(rewards, dones, values, last_value)
    returns = advantages + values
    return obs, rewards, observations, actions, old_log_probs, advantages, returns


def gae(rewards, dones, values, last_value):
    advantages, running = torch.zeros_like(rewards), torch.zeros(N_ENVS)
    for t in reversed(range(N_STEPS)):
        next_value = last_value if t == N_STEPS - 1 else values[t + 1]
        delta = rewards[t] + GAMMA * (1 - dones[t]) * next_value - values[t]
        running = delta + GAMMA * LAMBDA * (1 - dones[t]) * running
        advantages[t] = running
    return advantages


def update(agent, optimizer, observations, actions, old_log_probs, advantages, returns):
    obs, action = observations.flatten(0, 1), actions.flatten(0, 1)
    old_log_prob, advantage, returns = old_log_probs.flatten(), advantages.flatten(), returns.flatten()
    for _ in range(EPOCHS):
        for index in torch.randperm(len(obs)).split(MINIBATCH):
            _, log_prob, entropy, value = agent.evaluate(obs[index], action[index])
            ratio = (log_prob - old_log_prob[index]).exp()
            adv = advantage[index]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            policy_loss = -torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv).mean()
            value_loss = (value - returns[index]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def digest(module):
    weights = [p.tolist() for p in module.parameters()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(iterations=7):
    torch.set_num_threads(1)
    torch.manual_seed(5)
    env, agent = Points(torch.Generator().manual_seed(5)), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2, eps=1e-5)
    obs = env.position
    for iteration in range(iterations):
        obs, rewards, observations, actions, old_log_probs, advantages, returns = collect(agent, env, obs)
        update(agent, optimizer, observations, actions, old_log_probs, advantages, returns)
        print(f"iteration {iteration}  reward {rewards.mean().item():.3f}")
    print("weights", digest(agent))


if __name__ == "__main__":
    main()
