import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class ACNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.vf = nn.Linear(32, 1)

    def forward(self, x):
        h = self.base(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.vf(h).squeeze(-1)


class Memory:
    def __init__(self):
        self.rows = []

    def push(self, *row):
        self.rows.append(row)

    def columns(self):
        return list(zip(*self.rows))


def collect(env, net, seed, horizon=64):
    mem = Memory()
    obs, _ = env.reset(seed=seed)
    for _ in range(horizon):
        dist, v = net(torch.from_numpy(obs))
        a = dist.sample()
        lp = dist.log_prob(a)
        nxt, r, te, tr, _ = env.step(a.item())
        mem.push(obs, a.item(), lp.item(), v.item(), r, te or tr)
        obs = env.reset()[0] if te or tr else nxt
    return mem, net(torch.from_numpy(obs))[1].item()


def gae(rews, vals, dones, last, gamma=0.99, lam=0.95):
    adv, g = np.zeros(len(rews), dtype=np.float32), 0.0
    vals = list(vals) + [last]
    for t in reversed(range(len(rews))):
        mask = 1.0 - dones[t]
        delta = rews[t] + gamma * vals[t + 1] * mask - vals[t]
        g = delta + gamma * lam * mask * g
        adv[t] = g
    return adv, adv + np.asarray(vals[:-1], dtype=np.float32)


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    env, net = gym.make("CartPole-v1"), ACNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for it in range(6):
        mem, last = collect(env, net, it)
        obs, act, old_lp, vals, rews, dones = mem.columns()
        adv, ret = gae(rews, vals, np.asarray(dones, dtype=float), last)
        obs = torch.tensor(np.stack(obs))
        act, old_lp = torch.tensor(act), torch.tensor(old_lp)
        adv, ret = torch.tensor(adv), torch.tensor(ret)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(4):
            dist, v = net(obs)
            ratio = torch.exp(dist.log_prob(act) - old_lp)
            pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            loss = pg + 0.5 * F.mse_loss(v, ret) - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
        print(f"iter {it} loss {loss.item():.3f} kl {(old_lp - dist.log_prob(act)).mean().item():.4f}")


main()
