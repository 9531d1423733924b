import contextlib
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Timer:
    def __init__(self, log, key):
        self.log, self.key = log, key

    def __enter__(self):
        self.t = time.perf_counter()

    def __exit__(self, *exc):
        self.log[self.key] = self.log.get(self.key, 0.0) + time.perf_counter() - self.t


class Foraging:
    def __init__(self, n=12):
        self.n = n
        self.food = torch.rand(n, 2)
        self.me = torch.rand(n, 2)

    def obs(self):
        return torch.cat([self.me, self.food], 1)

    def step(self, a):
        moves = torch.tensor([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]])
        before = (self.me - self.food).norm(dim=1)
        self.me = (self.me + moves[a]).clamp(0, 1)
        after = (self.me - self.food).norm(dim=1)
        eaten = after < 0.1
        self.food[eaten] = torch.rand(int(eaten.sum()), 2)
        return self.obs(), (before - after) * 5 + eaten.float()


class Brain(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.policy = nn.Linear(32, 4)
        self.value = nn.Linear(32, 1)

    def heads(self, z):
        return torch.distributions.Categorical(logits=self.policy(z)), self.value(z).squeeze(-1)


def iteration(env, brain, opt, timings, horizon=8, gamma=0.9):
    with contextlib.ExitStack() as stack:
        stack.enter_context(Timer(timings, "collect"))
        stack.enter_context(torch.no_grad())  # <- culprit
        traj, obs = [], env.obs()
        for _ in range(horizon):
            dist, _ = brain.heads(brain.encoder(obs))
            a = dist.sample()
            nxt, r = env.step(a)
            traj.append((obs, a, r))
            obs = nxt
        _, boot = brain.heads(brain.encoder(obs))
        returns = []
        for _, _, r in reversed(traj):
            boot = r + gamma * boot
            returns.insert(0, boot)
        states = torch.cat([x[0] for x in traj])
        z = brain.encoder(states)
    with Timer(timings, "learn"):
        dist, v = brain.heads(z)
        target = torch.cat(returns)
        adv = target - v.detach()
        pg = -(dist.log_prob(torch.cat([x[1] for x in traj])) * adv).mean()
        loss = pg + F.mse_loss(v, target) - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item(), torch.stack([x[2] for x in traj]).mean().item()


if __name__ == "__main__":
    torch.manual_seed(9)
    env, brain, timings = Foraging(), Brain(), {}
    opt = torch.optim.Adam(brain.parameters(), lr=3e-3)
    for i in range(30):
        loss, rew = iteration(env, brain, opt, timings)
        if i % 10 == 0:
            print(f"{i:3d} loss {loss:.4f} reward {rew:.4f}")
    print(sorted(timings))
