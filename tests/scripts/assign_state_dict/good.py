import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Dueling(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=48):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.value = nn.Linear(hidden, 1)
        self.adv = nn.Linear(hidden, n_actions)

    def forward(self, x):
        h = self.features(x)
        a = self.adv(h)
        return self.value(h) + a - a.mean(dim=1, keepdim=True)


class Thermostat:
    """Keep a drifting temperature close to a set point with five heater levels."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.temp = self.rng.uniform(-1, 1)
        self.outside = self.rng.uniform(-1, 1)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([self.temp, self.outside, self.t / 25], dtype=np.float32)

    def step(self, level):
        self.temp += 0.2 * (self.outside - self.temp) + 0.15 * (level - 2)
        self.temp = float(np.clip(self.temp + 0.02 * self.rng.standard_normal(), -2, 2))
        self.t += 1
        return self.obs(), -abs(self.temp), self.t >= 25


class Replay:
    def __init__(self, rng):
        self.rows, self.rng = [], rng

    def push(self, *row):
        self.rows.append(row)

    def sample(self, n):
        pick = self.rng.choice(len(self.rows), n, replace=False)
        cols = zip(*(self.rows[i] for i in pick))
        return [torch.as_tensor(np.stack(c)) for c in cols]


class Agent:
    def __init__(self, gamma=0.9, lr=2e-3, sync_every=40):
        self.online, self.target = Dueling(3, 5), Dueling(3, 5)
        self.optim = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.sync_every, self.updates = gamma, sync_every, 0
        self.sync()

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)

    def act(self, obs, eps, rng):
        if rng.random() < eps:
            return int(rng.integers(5))
        with torch.no_grad():
            return int(self.online(torch.from_numpy(obs).unsqueeze(0)).argmax(1))

    def update(self, batch):
        obs, act, rew, nxt, done = batch
        with torch.no_grad():
            choice = self.online(nxt).argmax(1, keepdim=True)
            boot = self.target(nxt).gather(1, choice).squeeze(1)
            y = rew + self.gamma * (1 - done) * boot
        q = self.online(obs).gather(1, act.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.sync()
        return loss.item()


def main():
    torch.manual_seed(6)
    rng = np.random.default_rng(6)
    env, agent, replay = Thermostat(6), Agent(), Replay(rng)
    for episode in range(12):
        obs, done, ret, loss = env.reset(), False, 0.0, 0.0
        while not done:
            a = agent.act(obs, max(0.1, 1 - episode / 8), rng)
            nxt, r, done = env.step(a)
            replay.push(obs, np.int64(a), np.float32(r), nxt, np.float32(0.0))
            obs, ret = nxt, ret + r
            if len(replay.rows) > 50:
                loss = agent.update(replay.sample(32))
        if episode % 3 == 2:
            print(f"episode {episode} return {ret:.2f} loss {loss:.4f} updates {agent.updates}")


if __name__ == "__main__":
    main()
