"""TD3 on a pendulum: two critics in one module, target policy smoothing, delayed actor updates."""

import copy
import hashlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

GAMMA, TAU, POLICY_DELAY = 0.97, 0.02, 2


class Pendulum:
    """A torque swings a pendulum; hanging up is best."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.angle, self.speed, self.time = self.rng.uniform(-np.pi, np.pi), 0.0, 0
        return self.observe()

    def observe(self):
        return np.array([np.cos(self.angle), np.sin(self.angle), self.speed], dtype=np.float32)

    def step(self, torque):
        self.speed = 0.95 * self.speed + 0.3 * np.sin(self.angle) + 0.4 * torque
        self.angle += 0.2 * self.speed
        self.time += 1
        return self.observe(), np.cos(self.angle) - 0.01 * self.speed**2, self.time >= 50


def mlp(n_in, n_out, *last):
    return nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, n_out), *last)


class TwinCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = mlp(4, 1)
        self.second = mlp(4, 1)

    def forward(self, obs, action):
        both = torch.cat([obs, action], dim=-1)
        return self.first(both), self.second(both)


def sample(memory, rng, size=48):
    picked = rng.integers(0, len(memory), size)
    columns = zip(*(memory[i] for i in picked), strict=True)
    return [torch.as_tensor(np.array(column, dtype=np.float32)) for column in columns]


def polyak(online, target):
    for p, p_target in zip(online.parameters(), target.parameters(), strict=True):
        p_target.data.copy_((1 - TAU) * p_target.data + TAU * p.data)


def digest(*modules):
    weights = [p.tolist() for module in modules for p in module.parameters()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(steps=160):
    torch.set_num_threads(1)
    torch.manual_seed(8)
    rng = np.random.default_rng(8)
    actor, critic = mlp(3, 1, nn.Tanh()), TwinCritic()
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=2e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=4e-3)
    env, memory = Pendulum(rng), []
    obs = env.reset()
    for step in range(steps):
        with torch.no_grad():
            action = actor(torch.from_numpy(obs)).numpy() + rng.normal(0, 0.3, 1)
        next_obs, reward, cut_off = env.step(float(np.clip(action, -1, 1)[0]))
        memory.append((obs, action, [reward], next_obs))
        obs = env.reset() if cut_off else next_obs
        if step < 60:
            continue
        states, actions, rewards, next_states = sample(memory, rng)
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(actions)).clamp(-0.5, 0.5)
            next_actions = (actor_target(next_states) + noise).clamp(-1, 1)
            target_1, target_2 = critic_target(next_states, next_actions)
            td_target = rewards + GAMMA * torch.min(target_1, target_2)
        q_1, q_2 = critic(states, actions)
        critic_loss = F.mse_loss(q_1, td_target) + F.mse_loss(q_2, td_target)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        clip_grad_norm_(critic.parameters(), 1.0)
        critic_optimizer.step()
        if step % POLICY_DELAY == 0:
            actor_loss = -critic(states, actor(states))[0].mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            clip_grad_norm_(actor.parameters(), 0.1)
            actor_optimizer.step()
            polyak(actor, actor_target)
            polyak(critic, critic_target)
    print(f"critic loss {critic_loss.item():.3f}  actor loss {actor_loss.item():.3f}")
    print("weights", digest(actor, critic, actor_target, critic_target))


if __name__ == "__main__":
    main()
