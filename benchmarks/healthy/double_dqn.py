"""Double DQN that lands a cart on the middle of a track; the target network follows by Polyak averaging."""

import copy
import hashlib

import numpy as np
import torch
from torch import nn

GAMMA = 0.95
TAU = 0.05


class Track:
    """A cart with inertia on a line, pushed left, not at all or right; paid for being near the middle."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.time = 0
        return self.state.copy()

    def step(self, action):
        position, speed = self.state
        speed = 0.9 * speed + 0.2 * (action - 1)
        self.state = np.array([np.clip(position + 0.3 * speed, -1.5, 1.5), speed], dtype=np.float32)
        self.time += 1
        return self.state.copy(), 1.0 - abs(float(self.state[0])), self.time >= 40


def build():
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))


@torch.no_grad()
def soft_update(source, target, tau):
    for p, p_target in zip(source.parameters(), target.parameters(), strict=True):
        p_target.mul_(1 - tau).add_(tau * p)


def sample(memory, rng, size=32):
    rows = [memory[i] for i in rng.integers(0, len(memory), size)]
    obs, action, reward, next_obs, done = (torch.as_tensor(np.array(column)) for column in zip(*rows, strict=True))
    return obs, action, reward.float(), next_obs, done.float()


def td_loss(online, target, batch):
    obs, action, reward, next_obs, done = batch
    with torch.no_grad():
        best = online(next_obs).argmax(dim=1, keepdim=True)
        y = reward + GAMMA * (1 - done) * target(next_obs).gather(1, best).squeeze(1)
    q = online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    return (q - y).pow(2).mean()


def greedy(online, obs):
    with torch.no_grad():
        return int(online(torch.from_numpy(obs)).argmax())


def digest(*modules):
    weights = [p.tolist() for module in modules for p in module.parameters()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    env = Track(rng)
    online = build()
    target = copy.deepcopy(online)
    optimizer = torch.optim.RMSprop(online.parameters(), lr=2e-3)
    memory, history = [], []
    obs = env.reset()
    for step in range(200):
        action = int(rng.integers(3)) if rng.random() < 0.3 else greedy(online, obs)
        next_obs, reward, done = env.step(action)
        memory.append((obs, action, reward, next_obs, done))
        obs = env.reset() if done else next_obs
        if step < 64 or step % 2:
            continue
        loss = td_loss(online, target, sample(memory, rng))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        soft_update(online, target, TAU)
        history.append(loss.item())
    print(f"loss {history[0]:.4f} -> {history[-1]:.4f}")
    print("weights", digest(online, target))


if __name__ == "__main__":
    main()
