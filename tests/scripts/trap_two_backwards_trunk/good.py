import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class SharedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy_head, self.value_head = nn.Linear(64, 2), nn.Linear(64, 1)
        nn.init.orthogonal_(self.policy_head.weight, 0.01)

    def forward(self, x):
        z = self.encoder(x)
        return Categorical(logits=self.policy_head(z)), self.value_head(z).squeeze(-1)


class Runner:
    def __init__(self, n_envs, seed):
        self.envs = [gym.make("CartPole-v1") for _ in range(n_envs)]
        self.obs = np.stack([e.reset(seed=seed + i)[0] for i, e in enumerate(self.envs)])
        self.lengths, self.now = [], np.zeros(n_envs, int)

    @torch.no_grad()
    def collect(self, net, steps):
        out = {k: [] for k in ("obs", "act", "logp", "rew", "end", "val")}
        for _ in range(steps):
            o = torch.from_numpy(self.obs)
            dist, v = net(o)
            a = dist.sample()
            nxt, rew, end = [], [], []
            for i, env in enumerate(self.envs):
                x, r, term, trunc, _ = env.step(int(a[i]))
                self.now[i] += 1
                if term or trunc:
                    self.lengths.append(self.now[i])
                    self.now[i] = 0
                    x, _ = env.reset()
                nxt.append(x), rew.append(r), end.append(float(term or trunc))
            for k, val in zip(out, (o, a, dist.log_prob(a), torch.tensor(rew, dtype=torch.float32), torch.tensor(end), v)):
                out[k].append(val)
            self.obs = np.stack(nxt)
        last = net(torch.from_numpy(self.obs))[1]
        return {k: torch.stack(v) for k, v in out.items()}, last


def gae(b, last, gamma=0.97, lam=0.95):
    adv, run, nxt = torch.zeros_like(b["rew"]), 0.0, last
    for t in reversed(range(len(adv))):
        live = 1 - b["end"][t]
        run = b["rew"][t] + gamma * live * nxt - b["val"][t] + gamma * lam * live * run
        adv[t], nxt = run, b["val"][t]
    return adv, adv + b["val"]


def main():
    torch.manual_seed(1)
    net, runner = SharedNet(), Runner(6, 1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-5)
    for it in range(14):
        b, last = runner.collect(net, 40)
        adv, ret = gae(b, last)
        obs, act, logp, adv, ret = (x.flatten(0, 1) for x in (b["obs"], b["act"], b["logp"], adv, ret))
        for _ in range(3):
            for idx in torch.randperm(len(obs)).chunk(3):
                dist, value = net(obs[idx])
                ratio = (dist.log_prob(act[idx]) - logp[idx]).exp()
                a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
                policy_loss = -torch.min(a * ratio, a * ratio.clamp(0.8, 1.2)).mean() - 0.01 * dist.entropy().mean()
                value_loss = 0.05 * (value - ret[idx]).pow(2).mean()
                opt.zero_grad()
                policy_loss.backward(retain_graph=True)
                value_loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 2.0)
                opt.step()
        if it % 3 == 2:
            print(f"it {it} episode length {np.mean(runner.lengths[-10:]):.1f} value loss {value_loss.item():.3f}")


if __name__ == "__main__":
    main()
