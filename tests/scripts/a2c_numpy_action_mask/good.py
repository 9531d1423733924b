import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class BinPacking:
    """Items of random size arrive, put each into one of four bins that still has room."""

    n_bins = 4

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.free = np.ones(self.n_bins)
        self.draw()
        return self.obs()

    def draw(self):
        self.item = self.rng.uniform(0.1, 0.5)

    def obs(self):
        return np.append(self.free, self.item).astype(np.float32)

    def mask(self):
        return self.free >= self.item

    def step(self, b):
        left = self.free[b] - self.item
        reward = 1.0 - left
        self.free[b] = left
        self.draw()
        done = not self.mask().any()
        if done:
            reward -= self.free.sum()
        return self.obs(), reward, done


class Agent:
    def __init__(self, obs_dim=5, n_actions=4, hidden=48):
        self.policy = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, n_actions))
        self.value = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        params = [*self.policy.parameters(), *self.value.parameters()]
        self.optimizer = torch.optim.Adam(params, lr=4e-3)

    def distribution(self, obs, legal):
        scores = self.policy(obs)
        scores = scores.masked_fill(~torch.from_numpy(legal), -1e9)
        return Categorical(logits=scores)

    def act(self, obs, legal):
        with torch.no_grad():
            return self.distribution(torch.from_numpy(obs), legal).sample().item()

    def update(self, episodes, gamma=0.95):
        obs, legal, actions, returns = [], [], [], []
        for episode in episodes:
            g = 0.0
            for o, m, a, r in reversed(episode):
                g = r + gamma * g
                obs.append(o), legal.append(m), actions.append(a), returns.append(g)
        obs = torch.from_numpy(np.stack(obs))
        legal, actions = np.stack(legal), torch.tensor(actions)
        returns = torch.tensor(returns, dtype=torch.float32)

        values = self.value(obs).squeeze(-1)
        advantage = returns - values.detach()
        dist = self.distribution(obs, legal)
        policy_loss = -(dist.log_prob(actions) * advantage).mean()
        value_loss = (values - returns).square().mean()

        self.optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        self.optimizer.step()
        return policy_loss.item(), value_loss.item()


def play(env, agent):
    obs, done, steps = env.reset(), False, []
    while not done:
        legal = env.mask()
        a = agent.act(obs, legal)
        nxt, r, done = env.step(a)
        steps.append((obs, legal, a, r))
        obs = nxt
    return steps


torch.manual_seed(4)
env, agent = BinPacking(4), Agent()
for update in range(32):
    batch = [play(env, agent) for _ in range(4)]
    pl, vl = agent.update(batch)
    if update % 8 == 0:
        score = np.mean([sum(s[-1] for s in ep) for ep in batch])
        print(f"update {update:2d}: score {score:.3f}  policy {pl:+.3f}  value {vl:.3f}")
