import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Warehouse:
    """Order 0, 1, 2 or 3 units per day; pay for storage and for lost sales."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.stock, self.season = 4, 0

    def state(self):
        return np.array([self.stock / 10, np.sin(self.season / 5), np.cos(self.season / 5)], dtype=np.float32)

    def step(self, order):
        self.season += 1
        demand = self.rng.poisson(1.5 + np.sin(self.season / 5))
        self.stock = min(10, self.stock + order)
        sold = min(self.stock, demand)
        self.stock -= sold
        return self.state(), float(sold - 0.1 * self.stock - 0.5 * (demand - sold) - 0.2 * order)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.logits = nn.Linear(32, 4)
        self.value = nn.Linear(32, 1)

    def forward(self, x):
        h = self.torso(x)
        return torch.distributions.Categorical(logits=self.logits(h)), self.value(h).squeeze(-1)


def advantages(rewards, values, last, gamma=0.95, lam=0.9):
    out, carry = torch.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        nxt = last if t == len(rewards) - 1 else values[t + 1]
        carry = rewards[t] + gamma * nxt - values[t] + gamma * lam * carry
        out[t] = carry
    return out


def rollouts(env, policy, iterations, horizon):
    """Yield (states, actions, log-probs, advantages, returns, mean reward) until done."""
    state = torch.from_numpy(env.state())
    for _ in range(iterations):
        with torch.no_grad():  # <- culprit
            S, A, L, V, R = [], [], [], [], []
            for _ in range(horizon):
                dist, value = policy(state)
                action = dist.sample()
                nxt, reward = env.step(action.item())
                S.append(state), A.append(action), L.append(dist.log_prob(action)), V.append(value), R.append(reward)
                state = torch.from_numpy(nxt)
            _, last = policy(state)
            V = torch.stack(V)
            adv = advantages(R, V, last)
            batch = torch.stack(S), torch.stack(A), torch.stack(L), adv, adv + V, sum(R) / horizon
            yield batch


def clipped(ratio, adv, eps=0.2):
    return torch.min(ratio * adv, ratio.clamp(1 - eps, 1 + eps) * adv).mean()


def main():
    torch.manual_seed(6)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for i, (s, a, old, adv, ret, reward) in enumerate(rollouts(Warehouse(6), policy, iterations=10, horizon=64)):
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(4):
            dist, value = policy(s)
            ratio = (dist.log_prob(a) - old).exp()
            loss = -clipped(ratio, adv) + 0.25 * (value - ret).pow(2).mean() - 0.005 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"iteration {i}  reward {reward:+.3f}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
