import collections
import copy
import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
N_QUANT = 11
Options = collections.namedtuple("Options", "lr eps max_norm gamma")


class QuantileNet(nn.Module):
    def __init__(self, obs=4, act=2):
        super().__init__()
        self.act = act
        self.net = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, act * N_QUANT))

    def forward(self, x):
        return self.net(x).view(-1, self.act, N_QUANT)


def quantile_huber(pred, target, taus, kappa=1.0):
    diff = target.unsqueeze(1) - pred.unsqueeze(2)
    huber = torch.where(diff.abs() <= kappa, 0.5 * diff.pow(2), kappa * (diff.abs() - 0.5 * kappa))
    weight = (taus.view(1, -1, 1) - (diff.detach() < 0).float()).abs()
    return (weight * huber).sum(1).mean()


class Learner:
    def __init__(self, net, opts):
        self.net, self.opts = net, opts
        self.target = copy.deepcopy(net).requires_grad_(False)
        self.opt = torch.optim.Adam(net.parameters(), lr=opts.lr, eps=opts.eps)
        self.taus = (torch.arange(N_QUANT) + 0.5) / N_QUANT
        self.updates = 0

    def update(self, obs, act, rew, nxt, done):
        with torch.no_grad():
            quants = self.target(nxt)
            best = quants.mean(2).argmax(1)
            boot = quants[torch.arange(len(best)), best]
            target = rew.unsqueeze(1) + self.opts.gamma * (1 - done).unsqueeze(1) * boot
        pred = self.net(obs)[torch.arange(len(act)), act]
        loss = quantile_huber(pred, target, self.taus)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.opts.max_norm, error_if_nonfinite=True)
        self.opt.step()
        self.updates += 1
        if self.updates % 25 == 0:
            self.target.load_state_dict(self.net.state_dict())
        return loss.item()


def main():
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    opts = Options(lr=3e-3, eps=1e-5, max_norm=5.0, gamma=0.95)
    learner = Learner(QuantileNet(), opts)
    env, replay = gym.make("CartPole-v1"), collections.deque(maxlen=2000)
    obs, _ = env.reset(seed=0)
    length, lengths, loss = 0, [], 0.0
    for t in range(400):
        if random.random() < max(0.2, 1 - t / 200):
            act = random.randrange(2)
        else:
            with torch.no_grad():
                act = int(learner.net(torch.from_numpy(obs)[None]).mean(2).argmax(1))
        nxt, rew, term, trunc, _ = env.step(act)
        replay.append((obs, act, np.float32(rew), nxt, np.float32(term)))
        obs, length = nxt, length + 1
        if term or trunc:
            lengths.append(length)
            obs, length = env.reset()[0], 0
        if len(replay) >= 64:
            batch = [torch.as_tensor(np.array(col)) for col in zip(*random.sample(replay, 32))]
            loss = learner.update(*batch)
        if t % 100 == 99:
            print(f"t {t + 1} mean length {np.mean(lengths[-10:]):.1f} loss {loss:.4f}")


if __name__ == "__main__":
    main()
