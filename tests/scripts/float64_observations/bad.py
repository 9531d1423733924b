import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Skier:
    """Go down a slope through gates by leaning left or right."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.v, self.t = 0.0, 0.0, 0
        self.gates = self.rng.uniform(-1, 1, size=5)
        return self.observe()

    def observe(self):
        gate = self.gates[min(self.t // 5, 4)]
        return np.array([self.x, self.v, gate, gate - self.x])

    def step(self, lean):
        self.v = 0.8 * self.v + 0.15 * (lean - 1)
        self.x += self.v
        self.t += 1
        reward = 0.0
        if self.t % 5 == 0:
            reward = 1.0 - abs(self.x - self.gates[self.t // 5 - 1])
        return self.observe(), reward, self.t >= 25


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, obs):
        h = torch.tanh(self.hidden(obs))  # <- culprit
        return torch.log_softmax(self.out(h), dim=-1)


class Episode:
    def __init__(self):
        self.obs, self.actions, self.rewards = [], [], []

    def returns(self, gamma):
        out = np.zeros(len(self.rewards))
        running = 0.0
        for t in reversed(range(len(out))):
            running = self.rewards[t] + gamma * running
            out[t] = running
        return out


def to_tensor(obs):
    return torch.from_numpy(np.asarray(obs))


def play(env, policy):
    episode, obs, done = Episode(), env.reset(), False
    while not done:
        with torch.no_grad():
            logp = policy(to_tensor(obs))
        action = torch.multinomial(logp.exp(), 1).item()
        episode.obs.append(obs)
        episode.actions.append(action)
        obs, reward, done = env.step(action)
        episode.rewards.append(reward)
    return episode


def main(updates=30, per_update=6, gamma=0.9):
    torch.manual_seed(0)
    env, policy = Skier(0), Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for u in range(updates):
        episodes = [play(env, policy) for _ in range(per_update)]
        obs = to_tensor(np.concatenate([e.obs for e in episodes]))
        actions = torch.tensor([a for e in episodes for a in e.actions])
        weights = np.concatenate([e.returns(gamma) for e in episodes])
        weights = torch.tensor((weights - weights.mean()) / (weights.std() + 1e-8), dtype=torch.float32)
        logp = policy(obs).gather(1, actions[:, None]).squeeze(1)
        loss = -(logp * weights).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if u % 6 == 5:
            print(f"update {u + 1}  score {np.mean([sum(e.rewards) for e in episodes]):.3f}  loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
