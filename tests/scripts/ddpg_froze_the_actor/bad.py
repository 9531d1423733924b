import copy
from collections import deque, namedtuple

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)

Transition = namedtuple("Transition", "obs act rew nxt")


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)  # <- culprit
    return module


def soft(src, dst, tau):
    with torch.no_grad():
        for a, b in zip(src.parameters(), dst.parameters()):
            b.mul_(1 - tau).add_(tau * a)


class Agent:
    def __init__(self, cfg):
        self.cfg = cfg
        h = cfg["hidden"]
        self.actor = nn.Sequential(nn.Linear(3, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(4, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))
        self.actor_target = copy.deepcopy(self.actor)
        self.critic_target = copy.deepcopy(self.critic)
        freeze(self.critic_target)
        freeze(self.actor)
        self.optim = {
            "actor": torch.optim.Adam(self.actor.parameters(), lr=cfg["lr"]),
            "critic": torch.optim.Adam(self.critic.parameters(), lr=cfg["lr"] * 3),
        }
        self.memory = deque(maxlen=5000)
        self.rng = np.random.default_rng(cfg["seed"])

    def act(self, obs):
        with torch.no_grad():
            mean = 2.0 * self.actor(torch.from_numpy(obs)).numpy()
        return np.clip(mean + self.rng.normal(0, 0.4, 1), -2, 2).astype(np.float32)

    def apply(self, name, loss):
        self.optim[name].zero_grad()
        loss.backward()
        self.optim[name].step()
        return loss.item()

    def learn(self):
        rows = [self.memory[i] for i in self.rng.integers(0, len(self.memory), self.cfg["batch"])]
        b = Transition(*(torch.from_numpy(np.stack(c)) for c in zip(*rows)))
        with torch.no_grad():
            a2 = 2.0 * self.actor_target(b.nxt)
            y = b.rew + self.cfg["gamma"] * self.critic_target(torch.cat([b.nxt, a2], 1))
        q = self.critic(torch.cat([b.obs, b.act], 1))
        critic_loss = self.apply("critic", nn.functional.smooth_l1_loss(q, y))
        actor_loss = self.apply("actor", -self.critic(torch.cat([b.obs, 2.0 * self.actor(b.obs)], 1)).mean())
        soft(self.actor, self.actor_target, self.cfg["tau"])
        soft(self.critic, self.critic_target, self.cfg["tau"])
        return critic_loss, actor_loss


def main():
    cfg = dict(seed=0, hidden=32, lr=1e-3, gamma=0.95, tau=0.02, batch=48)
    torch.manual_seed(cfg["seed"])
    env, agent = gym.make("Pendulum-v1"), Agent(cfg)
    obs, _ = env.reset(seed=cfg["seed"])
    for step in range(350):
        act = agent.act(obs)
        nxt, rew, _, truncated, _ = env.step(act)
        agent.memory.append(Transition(obs, act, np.array([rew / 8], dtype=np.float32), nxt))
        obs = env.reset()[0] if truncated else nxt
        if step >= 100 and step % 5 == 0:
            c, a = agent.learn()
            if step % 50 == 0:
                print(f"step {step:4d} critic {c:.4f} actor {a:.4f}")
    env.close()


if __name__ == "__main__":
    main()
