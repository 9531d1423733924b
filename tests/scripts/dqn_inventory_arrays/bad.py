import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
MAX_STOCK, MAX_ORDER = 10, 4


class Shop:
    """Daily ordering under random demand."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.stock, self.day = 5, 0
        return self.state()

    def state(self):
        return np.array([self.stock / MAX_STOCK, np.sin(self.day), np.cos(self.day)], dtype=np.float32)

    def step(self, order):
        available = min(MAX_STOCK, self.stock + order)
        demand = self.rng.poisson(2.0 + np.sin(self.day))
        sold = min(available, demand)
        self.stock, self.day = available - sold, self.day + 1
        profit = 0.5 * sold - 0.2 * order - 0.05 * self.stock
        return self.state(), profit, self.day >= 30


class Memory:
    def __init__(self, capacity):
        self.s = np.zeros((capacity, 3), dtype=np.float32)
        self.s2 = np.zeros((capacity, 3), dtype=np.float32)
        self.a = np.zeros(capacity, dtype=np.int64)
        self.r = np.zeros(capacity)
        self.n, self.capacity = 0, capacity

    def push(self, s, a, r, s2):
        i = self.n % self.capacity
        self.s[i], self.a[i], self.r[i], self.s2[i] = s, a, r, s2
        self.n += 1

    def draw(self, rng, k):
        i = rng.integers(0, min(self.n, self.capacity), k)
        return tuple(torch.from_numpy(x[i]) for x in (self.s, self.a, self.r, self.s2))


def q_network():
    return nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, MAX_ORDER + 1))


def td_update(q_net, target_net, criterion, optimizer, batch, gamma=0.9):
    s, a, r, s2 = batch
    with torch.no_grad():
        bootstrap = target_net(s2).max(dim=1)[0]
    target = r + gamma * bootstrap
    value = q_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
    loss = criterion(value, target)  # <- culprit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    shop, memory = Shop(rng), Memory(4000)
    q_net, target_net = q_network(), q_network()
    target_net.load_state_dict(q_net.state_dict())
    optimizer = torch.optim.Adam(q_net.parameters(), lr=3e-3)
    criterion = nn.HuberLoss()
    updates = 0
    for episode in range(40):
        s, over, profit = shop.reset(), False, 0.0
        while not over:
            if rng.random() < max(0.1, 1 - episode / 20):
                a = int(rng.integers(0, MAX_ORDER + 1))
            else:
                with torch.no_grad():
                    a = int(q_net(torch.from_numpy(s)).argmax())
            s2, r, over = shop.step(a)
            memory.push(s, a, r, s2)
            s, profit = s2, profit + r
            if memory.n > 100 and memory.n % 3 == 0:
                loss = td_update(q_net, target_net, criterion, optimizer, memory.draw(rng, 64))
                updates += 1
                if updates % 25 == 0:
                    target_net.load_state_dict(q_net.state_dict())
        if episode % 8 == 7:
            print(f"episode {episode + 1} profit {profit:.2f} loss {loss:.4f}")


if __name__ == "__main__":
    main()
