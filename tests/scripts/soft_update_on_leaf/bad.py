import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)

BETA, GAMMA, TAU = 3.0, 0.9, 0.05


class Bikes:
    """Two stations and a van: move bikes left, right, or rest."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.stock = np.array([5, 5])
        self.t = 0
        return self.view()

    def view(self):
        return np.concatenate([self.stock / 10, [np.sin(self.t / 3)]]).astype(np.float32)

    def step(self, a):
        if a < 2:
            k = min(2, self.stock[1 - a])
            self.stock[a] += k
            self.stock[1 - a] -= k
        want = self.rng.poisson([1.5 + np.sin(self.t / 3), 1.0])
        rented = np.minimum(self.stock, want)
        reward = float(rented.sum() - 0.5 * (want - rented).sum()) / 3 - 0.05 * (a < 2)
        self.stock = np.minimum(self.stock - rented + rented[::-1], 10)
        self.t += 1
        return self.view(), reward, self.t >= 24


class SoftQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.q = nn.Linear(32, 3)

    def forward(self, s):
        return self.q(self.body(s))

    def soft_value(self, s):
        return torch.logsumexp(BETA * self(s), dim=-1) / BETA


def track(net, target):
    for p, pt in zip(net.parameters(), target.parameters()):
        pt += TAU * (p.detach() - pt)  # <- culprit


def main():
    torch.manual_seed(5)
    rng, env = np.random.default_rng(5), Bikes(5)
    net, target = SoftQ(), SoftQ()
    target.load_state_dict(net.state_dict())
    opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    memory, updates = [], 0
    for episode in range(12):
        s, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                p = torch.softmax(BETA * net(torch.from_numpy(s)), dim=-1)
            a = torch.multinomial(p, 1).item()
            s2, r, done = env.step(a)
            memory.append((s, a, r, s2))
            s, total = s2, total + r
            if len(memory) < 48 or len(memory) % 5:
                continue
            rows = [memory[i] for i in rng.integers(0, len(memory), 32)]
            bs, ba, br, bs2 = (np.array(c) for c in zip(*rows))
            with torch.no_grad():
                y = torch.tensor(br, dtype=torch.float32) + GAMMA * target.soft_value(torch.from_numpy(bs2))
            q = net(torch.from_numpy(bs)).gather(1, torch.from_numpy(ba)[:, None]).squeeze(1)
            loss = nn.functional.mse_loss(q, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            track(net, target)
            updates += 1
        if episode >= 2 and episode % 3 == 2:
            print(f"episode {episode + 1} return {total:.2f} loss {loss.item():.4f} updates {updates}")


if __name__ == "__main__":
    main()
