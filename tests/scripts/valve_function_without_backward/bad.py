import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class DeadZone(torch.autograd.Function):
    """A valve that does not move for small commands."""

    @staticmethod
    def forward(ctx, command, width):
        ctx.save_for_backward(command)
        ctx.width = width
        return torch.where(command.abs() > width, command, torch.zeros_like(command))

    @staticmethod
    def backward(ctx, grad_output):
        return None, None


class Tank:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.level, self.goal, self.t = self.rng.uniform(0, 2), self.rng.uniform(0.5, 1.5), 0
        return self.obs()

    def obs(self):
        return np.array([self.level - 1, self.goal - 1, self.goal - self.level], dtype=np.float32)

    def step(self, valve):
        self.level = float(np.clip(self.level + 0.3 * valve + 0.01 * self.rng.normal(), 0, 2))
        self.t += 1
        return self.obs(), -abs(self.goal - self.level), self.t >= 25


class Actor(nn.Module):
    def __init__(self, width=0.05):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.width = width

    def forward(self, obs):
        command = self.net(obs)
        return DeadZone.apply(command, self.width)  # <- culprit


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], 1))


def polyak(src, dst, tau=0.03):
    for p, q in zip(src.parameters(), dst.parameters()):
        q.data.mul_(1 - tau).add_(p.data, alpha=tau)


def main():
    torch.manual_seed(1)
    rng, env = np.random.default_rng(1), Tank(1)
    actor, critic = Actor(), Critic()
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)
    data = []
    for episode in range(10):
        obs, done, ret = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                act = actor(torch.from_numpy(obs)[None])[0].numpy()
            act = np.clip(act + 0.3 * rng.normal(size=1), -1, 1).astype(np.float32)
            nxt, rew, done = env.step(act[0])
            data.append((obs, act, np.array([rew], np.float32), nxt))
            obs, ret = nxt, ret + rew
            if len(data) < 50 or len(data) % 4:
                continue
            rows = [data[i] for i in rng.integers(0, len(data), 40)]
            o, a, r, o2 = (torch.from_numpy(np.stack(c)) for c in zip(*rows))
            with torch.no_grad():
                y = r + 0.9 * critic_target(o2, actor_target(o2))
            critic_loss = (critic(o, a) - y).pow(2).mean()
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()
            actor_loss = -critic(o, actor(o)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
            polyak(actor, actor_target)
            polyak(critic, critic_target)
        if episode > 1:
            print(f"episode {episode} return {ret:.2f} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f}")


if __name__ == "__main__":
    main()
