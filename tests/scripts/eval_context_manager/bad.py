import contextlib
import copy

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


@contextlib.contextmanager
def evaluating(net):
    net.eval()  # <- culprit
    was_training = net.training
    try:
        with torch.no_grad():
            yield net
    finally:
        net.train(was_training)  # <- culprit


class Sensors:
    """Pick the channel with the strongest underlying signal; channels drift."""

    def __init__(self, rng, channels=6):
        self.rng, self.channels = rng, channels

    def reset(self):
        self.level = self.rng.normal(0, 1, self.channels)
        self.t = 0
        return self.obs()

    def obs(self):
        gain = np.linspace(1, 4, self.channels)
        return (gain * (self.level + 0.2 * self.rng.standard_normal(self.channels)) + 3).astype(np.float32)

    def step(self, a):
        reward = float(np.tanh(self.level[a]))
        self.level = 0.9 * self.level + 0.3 * self.rng.standard_normal(self.channels)
        self.level[a] -= 0.2
        self.t += 1
        return self.obs(), reward, self.t >= 20


def q_network(channels):
    return nn.Sequential(
        nn.LayerNorm(channels), nn.Linear(channels, 64), nn.Tanh(),
        nn.Dropout(0.25), nn.Linear(64, channels),
    )


class Agent:
    def __init__(self, env, rng, gamma=0.8):
        self.rng, self.gamma, self.n = rng, gamma, env.channels
        self.net = q_network(env.channels)
        self.target = copy.deepcopy(self.net).requires_grad_(False).eval()
        self.optim = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.memory, self.count = [], 0

    def act(self, obs):
        """One dropout mask per decision: greedy with respect to a sampled Q-function."""
        with torch.no_grad():
            return int(self.net(torch.from_numpy(obs)[None]).argmax(1))

    def score(self, env):
        with evaluating(self.net) as net:
            obs, done, total = env.reset(), False, 0.0
            while not done:
                obs, r, done = env.step(int(net(torch.from_numpy(obs)[None]).argmax(1)))
                total += r
        return total

    def learn(self, batch_size=32):
        rows = [self.memory[i] for i in self.rng.integers(0, len(self.memory), batch_size)]
        obs, act, rew, nxt, done = (torch.as_tensor(np.stack(c)) for c in zip(*rows))
        with torch.no_grad():
            y = rew + self.gamma * (1 - done) * self.target(nxt).max(1).values
        q = self.net(obs).gather(1, act[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.count += 1
        if self.count % 30 == 0:
            self.target.load_state_dict(self.net.state_dict())
        return loss.item()


def main():
    torch.manual_seed(21)
    rng = np.random.default_rng(21)
    env = Sensors(rng)
    agent, returns = Agent(env, rng), []
    for episode in range(16):
        obs, done, total, loss = env.reset(), False, 0.0, 0.0
        while not done:
            a = agent.act(obs)
            nxt, r, done = env.step(a)
            agent.memory.append((obs, np.int64(a), np.float32(r), nxt, np.float32(done)))
            obs, total = nxt, total + r
            if len(agent.memory) >= 32:
                loss = agent.learn()
        returns.append(total)
        if episode % 4 == 3:
            greedy = agent.score(env)
            print(f"episode {episode} mean return {np.mean(returns[-4:]):.2f} loss {loss:.4f} greedy {greedy:.2f} updates {agent.count}")


if __name__ == "__main__":
    main()
