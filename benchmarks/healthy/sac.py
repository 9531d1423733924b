"""SAC with a learned temperature: twin critics, a squashed Gaussian actor, Polyak-averaged targets."""

import copy
import hashlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

GAMMA, TAU, TARGET_ENTROPY = 0.95, 0.02, -1.0


class Thermostat:
    """Heat or cool a room that leaks towards the outside; comfort is a temperature of zero."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.inside, self.outside, self.time = self.rng.normal(), self.rng.normal(), 0
        return np.array([self.inside, self.outside], dtype=np.float32)

    def step(self, action):
        self.inside += 0.2 * (self.outside - self.inside) + 0.5 * float(action[0])
        self.time += 1
        reward = -(self.inside**2) - 0.01 * float(action[0]) ** 2
        return np.array([self.inside, self.outside], dtype=np.float32), reward, self.time >= 30


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 32), nn.ReLU())
        self.mean = nn.Linear(32, 1)
        self.log_std = nn.Linear(32, 1)

    def forward(self, obs):
        hidden = self.trunk(obs)
        return Normal(self.mean(hidden), self.log_std(hidden).clamp(-5, 1).exp())

    def sample(self, obs):
        dist = self(obs)
        raw = dist.rsample()
        action = torch.tanh(raw)
        log_prob = dist.log_prob(raw) - 2 * (np.log(2) - raw - F.softplus(-2 * raw))
        return action, log_prob


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], dim=1))


class SAC:
    def __init__(self):
        self.actor, self.q1, self.q2 = Actor(), Critic(), Critic()
        self.q1_target = copy.deepcopy(self.q1)
        self.q2_target = copy.deepcopy(self.q2)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.q_optimizer = torch.optim.Adam(list(self.q1.parameters()) + list(self.q2.parameters()), lr=3e-3)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=3e-3)

    def update(self, obs, action, reward, next_obs):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            next_action, next_log_prob = self.actor.sample(next_obs)
            next_q = torch.min(self.q1_target(next_obs, next_action), self.q2_target(next_obs, next_action))
            q_target = reward + GAMMA * (next_q - alpha * next_log_prob)
        q_loss = F.mse_loss(self.q1(obs, action), q_target) + F.mse_loss(self.q2(obs, action), q_target)
        self.q_optimizer.zero_grad()
        q_loss.backward()
        self.q_optimizer.step()

        new_action, log_prob = self.actor.sample(obs)
        q_new = torch.min(self.q1(obs, new_action), self.q2(obs, new_action))
        actor_loss = (alpha * log_prob - q_new).mean()
        alpha_loss = -(self.log_alpha * (log_prob + TARGET_ENTROPY).detach()).mean()
        self.actor_optimizer.zero_grad()
        self.alpha_optimizer.zero_grad()
        (actor_loss + alpha_loss).backward()
        self.actor_optimizer.step()
        self.alpha_optimizer.step()

        with torch.no_grad():
            for net, target in ((self.q1, self.q1_target), (self.q2, self.q2_target)):
                for p, p_target in zip(net.parameters(), target.parameters(), strict=True):
                    p_target.lerp_(p, TAU)
        return q_loss.item(), actor_loss.item()


def digest(*tensors):
    return hashlib.sha256(repr([tensor.tolist() for tensor in tensors]).encode()).hexdigest()


def main(steps=150, batch_size=32):
    torch.set_num_threads(1)
    torch.manual_seed(7)
    rng = np.random.default_rng(7)
    env, agent, memory, q_losses = Thermostat(rng), SAC(), [], []
    obs = env.reset()
    for step in range(steps):
        with torch.no_grad():
            action = agent.actor.sample(torch.from_numpy(obs)[None])[0][0].numpy()
        next_obs, reward, done = env.step(action)
        memory.append((obs, action, np.float32([reward]), next_obs))
        obs = env.reset() if done else next_obs
        if step >= 60 and step % 2 == 0:
            rows = [memory[i] for i in rng.integers(0, len(memory), batch_size)]
            q_losses.append(agent.update(*(torch.from_numpy(np.stack(c)) for c in zip(*rows, strict=True)))[0])
    print(f"q loss {q_losses[0]:.3f} -> {q_losses[-1]:.3f}  alpha {agent.log_alpha.exp().item():.3f}")
    trained = (agent.actor, agent.q1, agent.q2, agent.q1_target, agent.q2_target)
    print("weights", digest(*(tensor for net in trained for tensor in net.state_dict().values()), agent.log_alpha))


if __name__ == "__main__":
    main()
