from __future__ import print_function

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, inp, hid, out):
        super(Net, self).__init__()
        self.l1 = nn.Linear(inp, hid)
        self.l2 = nn.Linear(hid, out)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        return self.softmax(self.l2(torch.tanh(self.l1(x))))


class Casino(object):
    """Five machines; the context says, with noise, which of them pays today."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.code = self.rng.randn(5, 8)

    def day(self, n):
        lucky = self.rng.randint(5, size=n)
        context = self.code[lucky] + 0.4 * self.rng.randn(n, 8)
        return context.astype("float32"), lucky

    def play(self, arms, lucky):
        win = np.where(arms == lucky, 0.8, 0.15)
        return (self.rng.rand(len(arms)) < win).astype("float32")


class PolicyGradient(object):
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = optim.Adam(net.parameters(), lr=lr)
        self.baseline = 0.0

    def forward(self, context):
        x = Variable(torch.from_numpy(context))
        probs = self.net(x)
        return Variable(probs, requires_grad=True)  # <- culprit

    def choose(self, probs):
        return torch.multinomial(probs.data, 1)

    def improve(self, probs, arms, rewards):
        weight = Variable(torch.from_numpy(rewards) - self.baseline)
        chosen = probs.gather(1, arms).squeeze(1)
        loss = -(torch.log(chosen + 1e-8) * weight).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.baseline = 0.9 * self.baseline + 0.1 * rewards.mean()
        return loss.item()


def main():
    torch.manual_seed(2)
    casino = Casino(2)
    agent = PolicyGradient(Net(8, 32, 5), lr=0.01)
    wins = []
    for day in range(60):
        context, lucky = casino.day(64)
        probs = agent.forward(context)
        arms = agent.choose(probs)
        rewards = casino.play(arms.squeeze(1).numpy(), lucky)
        loss = agent.improve(probs, arms, rewards)
        wins.append(rewards.mean())
        if day % 12 == 11:
            print("day %3d  win rate %.3f  loss %.4f" % (day + 1, np.mean(wins[-12:]), loss))


if __name__ == "__main__":
    main()
