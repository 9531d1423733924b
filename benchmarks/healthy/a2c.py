"""A2C with a shared trunk and one optimizer on eight copies of a signal-matching game, five steps per update."""

import hashlib

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

N_ENVS, N_STEPS, GAMMA = 8, 5, 0.9


class Signals:
    """Four lamps, one lit; pressing the lit lamp's button pays and moves the light on, else it stays."""

    def __init__(self, generator):
        self.generator = generator
        self.lit = torch.randint(0, 4, (N_ENVS,), generator=generator)

    def observe(self):
        return F.one_hot(self.lit, 4).float() + 0.1 * torch.randn(N_ENVS, 4, generator=self.generator)

    def step(self, action):
        hit = action == self.lit
        done = torch.rand(N_ENVS, generator=self.generator) < 0.05
        fresh = torch.randint(0, 4, (N_ENVS,), generator=self.generator)
        self.lit = torch.where(done, fresh, torch.where(hit, (self.lit + 1) % 4, self.lit))
        return self.observe(), hit.float(), done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.policy_head = nn.Linear(32, 4)
        self.value_head = nn.Linear(32, 1)

    def forward(self, obs):
        features = self.trunk(obs)
        return Categorical(logits=self.policy_head(features)), self.value_head(features).squeeze(-1)


def rollout(model, env, obs):
    """Five steps of every copy: log-probabilities, entropies, values, rewards and ends, each (steps, copies)."""
    log_probs, entropies, values, rewards, dones = [], [], [], [], []
    for _ in range(N_STEPS):
        dist, value = model(obs)
        action = dist.sample()
        obs, reward, done = env.step(action)
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
        dones.append(done)
    return obs, [torch.stack(rows) for rows in (log_probs, entropies, values, rewards, dones)]


def bootstrapped_returns(rewards, dones, next_value):
    returns = []
    for reward, done in zip(reversed(rewards), reversed(dones), strict=True):
        next_value = reward + GAMMA * (1 - done) * next_value
        returns.append(next_value)
    return torch.stack(returns[::-1])


def digest(model):
    weights = [tensor.tolist() for tensor in model.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(updates=50):
    torch.set_num_threads(1)
    torch.manual_seed(4)
    env = Signals(torch.Generator().manual_seed(4))
    model = ActorCritic()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    obs, reward_log, loss_log = env.observe(), [], []
    for _ in range(updates):
        obs, (log_probs, entropies, values, rewards, dones) = rollout(model, env, obs)
        with torch.no_grad():
            next_value = model(obs)[1]
        returns = bootstrapped_returns(rewards, dones, next_value)
        advantage = returns - values
        policy_loss = -(log_probs * advantage.detach()).mean()
        value_loss = F.mse_loss(values, returns)
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.3)
        optimizer.step()
        loss_log.append(loss.item())
        reward_log.append(rewards.mean().item())
    print(f"loss {loss_log[-1]:.3f}  reward {sum(reward_log[:10]) / 10:.2f} -> {sum(reward_log[-10:]) / 10:.2f}")
    print("weights", digest(model))


if __name__ == "__main__":
    main()
