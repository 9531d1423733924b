"""Expected SARSA on a ring of states: semi-gradient, one network, no target network and no replay."""

import hashlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_STATES, N_ACTIONS, GAMMA = 8, 2, 0.9


class Ring:
    """Walk left or right around eight states; state 0 pays and ends the walk."""

    def __init__(self, n_walkers, rng):
        self.n_walkers, self.rng = n_walkers, rng
        self.state = rng.integers(1, N_STATES, n_walkers)

    def observe(self):
        return F.one_hot(torch.from_numpy(self.state), N_STATES).float()

    def step(self, action):
        slip = self.rng.random(self.n_walkers) < 0.1
        move = np.where(np.logical_xor(action.numpy() == 1, slip), 1, -1)
        self.state = (self.state + move) % N_STATES
        done = self.state == 0
        next_obs = self.observe()
        self.state = np.where(done, self.rng.integers(1, N_STATES, self.n_walkers), self.state)
        return next_obs, torch.from_numpy(done).float(), torch.from_numpy(done).float()


def epsilon_greedy(q_values, epsilon):
    """Action probabilities of the behaviour policy."""
    probs = torch.full_like(q_values, epsilon / N_ACTIONS)
    greedy = q_values.argmax(dim=1, keepdim=True)
    return probs.scatter_add(1, greedy, torch.full_like(q_values[:, :1], 1 - epsilon))


def digest(module):
    weights = [p.tolist() for p in module.parameters()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(updates=60):
    torch.set_num_threads(1)
    torch.manual_seed(2)
    env = Ring(n_walkers=16, rng=np.random.default_rng(2))
    q_net = nn.Sequential(nn.Linear(N_STATES, 24), nn.ReLU(), nn.Linear(24, N_ACTIONS))
    optimizer = torch.optim.SGD(q_net.parameters(), lr=0.3)
    total_loss = 0.0
    for update in range(updates):
        epsilon = max(0.1, 0.5 - update / 100)
        obs = env.observe()
        q_values = q_net(obs)
        action = torch.multinomial(epsilon_greedy(q_values.detach(), epsilon), 1)
        next_obs, reward, done = env.step(action.squeeze(1))
        next_q = q_net(next_obs).detach()
        expected = (epsilon_greedy(next_q, epsilon) * next_q).sum(dim=1)
        target = reward + GAMMA * (1 - done) * expected
        prediction = q_values.gather(1, action).squeeze(1)
        loss = F.mse_loss(prediction, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    print(f"mean loss {total_loss / updates:.4f}")
    print("weights", digest(q_net))


if __name__ == "__main__":
    main()
