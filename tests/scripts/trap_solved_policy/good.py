"""Packet routing: send each packet to the port named in its header, learn by policy gradient."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Router:
    PORTS = 4

    def __init__(self, n):
        self.n = n

    def packets(self):
        self.kind = torch.randint(0, 8, (self.n,))
        self.hot = nn.functional.one_hot(self.kind, 8).float()
        return self.hot + 0.05 * torch.randn(self.n, 8)

    def deliver(self, port):
        right = (self.kind * 3 + 1) % self.PORTS
        return (port == right).float()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 32)
        self.out = nn.Linear(32, Router.PORTS)

    def forward(self, x):
        return Categorical(logits=self.out(torch.tanh(self.fc(x))))


class MovingBaseline:
    def __init__(self, rate=0.1):
        self.value, self.rate = 0.0, rate

    def __call__(self, reward):
        out = reward - self.value
        self.value += self.rate * (reward.mean().item() - self.value)
        return out


def main(updates=320, batch=128):
    torch.manual_seed(62)
    env, policy, centre = Router(batch), Policy(), MovingBaseline()
    opt = torch.optim.Adam(policy.parameters(), lr=4e-3)
    for k in range(1, updates + 1):
        dist = policy(env.packets())
        port = dist.sample()
        reward = env.deliver(port)
        loss = -(centre(reward) * dist.log_prob(port)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 40 == 0:
            print(f"update {k} delivered {reward.mean():.3f} entropy {dist.entropy().mean().item():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
