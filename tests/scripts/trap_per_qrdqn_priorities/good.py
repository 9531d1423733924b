# QR-DQN on CartPole with a prioritized replay buffer kept in numpy
import copy

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)

N_QUANTILES, N_ACTIONS, GAMMA, BATCH, KAPPA = 16, 2, 0.95, 32, 1.0


class PrioritizedBuffer:
    def __init__(self, capacity, alpha=0.6, beta=0.4):
        self.capacity, self.alpha, self.beta = capacity, alpha, beta
        self.data, self.pos = [], 0
        self.priorities = np.zeros(capacity, dtype=np.float32)

    def push(self, *transition):
        self.priorities[self.pos] = self.priorities.max() if self.data else 1.0
        if len(self.data) < self.capacity:
            self.data.append(transition)
        else:
            self.data[self.pos] = transition
        self.pos = (self.pos + 1) % self.capacity

    def sample(self, n):
        probs = self.priorities[:len(self.data)].astype(np.float64) ** self.alpha
        probs /= probs.sum()
        indices = np.random.choice(len(self.data), n, p=probs)
        weights = (len(self.data) * probs[indices]) ** (-self.beta)
        weights /= weights.max()
        s, a, r, s2, d = (np.stack(x) for x in zip(*[self.data[i] for i in indices]))
        return (torch.FloatTensor(s), torch.LongTensor(a), torch.FloatTensor(r), torch.FloatTensor(s2),
                torch.FloatTensor(d), indices, torch.tensor(weights, dtype=torch.float32))

    def update_priorities(self, indices, errors):
        for i, e in zip(indices, errors):
            self.priorities[i] = abs(e) + 1e-5


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, N_ACTIONS * N_QUANTILES))
        self.register_buffer("taus", (torch.arange(N_QUANTILES) + 0.5) / N_QUANTILES)

    def forward(self, x):
        return self.body(x).view(-1, N_ACTIONS, N_QUANTILES)

    @torch.no_grad()
    def act(self, state, epsilon):
        if np.random.rand() < epsilon:
            return np.random.randint(N_ACTIONS)
        return int(self(torch.as_tensor(state)[None]).mean(-1).argmax(-1))


def quantile_huber(current, target, taus):
    """current (B, N), target (B, M) -> one loss per sample"""
    u = target[:, None, :] - current[:, :, None]
    huber = torch.where(u.abs() <= KAPPA, 0.5 * u ** 2, KAPPA * (u.abs() - 0.5 * KAPPA))
    weight = (taus[None, :, None] - (u.detach() < 0).float()).abs()
    return (weight * huber).mean(2).sum(1)


def compute_td_loss(net, target_net, optimizer, buffer):
    state, action, reward, next_state, done, indices, weights = buffer.sample(BATCH)
    theta = net(state)[torch.arange(BATCH), action]
    next_theta = target_net(next_state)
    best = next_theta.mean(-1).argmax(-1)
    target = reward[:, None] + GAMMA * (1 - done[:, None]) * next_theta[torch.arange(BATCH), best].detach()

    losses = quantile_huber(theta, target, net.taus)
    loss = (losses * weights).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    td_error = target.mean(1) - theta.mean(1)
    buffer.update_priorities(indices, td_error.detach().cpu().numpy())
    return loss.item()


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    net = QuantileNet()
    target_net = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    buffer = PrioritizedBuffer(300)
    state, _ = env.reset(seed=0)
    losses = []
    for frame in range(260):
        action = net.act(state, epsilon=max(0.1, 1 - frame / 150))
        next_state, reward, terminated, truncated, _ = env.step(action)
        buffer.push(state, action, 0.1 * reward, next_state, float(terminated))
        state = env.reset()[0] if terminated or truncated else next_state
        if frame >= 64 and frame % 4 == 0:
            losses.append(compute_td_loss(net, target_net, optimizer, buffer))
        if frame % 40 == 0:
            target_net.load_state_dict(net.state_dict())
            if losses:
                print(f"frame {frame} loss {np.mean(losses[-10:]):.4f} priority {buffer.priorities[:len(buffer.data)].mean():.3f}")
