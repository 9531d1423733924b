import math

import torch
from torch import nn
from torch.distributions import Independent, Normal

torch.set_num_threads(1)


class Springs:
    def __init__(self, n=24, seed=9):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.x, self.v = self._init(), torch.zeros(n, 2)
        self.t = 0

    def _init(self):
        return torch.rand(self.n, 2, generator=self.g) * 2 - 1

    def obs(self):
        clock = torch.full((self.n, 1), self.t % 16 / 8 - 1)
        return torch.cat([self.x, self.v, clock], 1)

    def step(self, force):
        self.v = 0.9 * self.v + 0.2 * force - 0.1 * self.x
        self.x = self.x + 0.2 * self.v
        reward = 1 - self.x.pow(2).sum(1) - 0.05 * force.pow(2).sum(1)
        self.t += 1
        done = self.t % 16 == 0
        if done:
            self.x, self.v = self._init(), torch.zeros(self.n, 2)
        return self.obs(), reward, torch.full((self.n,), float(done))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), math.log(0.9)))

    def forward(self, obs):
        return Independent(Normal(self.mean(obs), self.log_std.exp().expand(obs.shape[:-1] + (2,))), 1)


class Buffer:
    fields = ("obs", "act", "logp", "val", "rew", "done")

    def __init__(self):
        self.data = {f: [] for f in self.fields}

    def add(self, **kw):
        for f in self.fields:
            self.data[f].append(kw[f])

    def finish(self, last, gamma, lam):
        d = {f: torch.stack(v) for f, v in self.data.items()}
        adv, run = torch.zeros_like(d["rew"]), 0.0
        for t in range(len(adv) - 1, -1, -1):
            delta = d["rew"][t] + gamma * last * (1 - d["done"][t]) - d["val"][t]
            run = delta + gamma * lam * (1 - d["done"][t]) * run
            adv[t], last = run, d["val"][t]
        d["ret"] = adv + d["val"]
        d["adv"] = (adv - adv.mean()) / (adv.std() + 1e-8)
        return {k: v.flatten(0, 1) for k, v in d.items()}


class Runner:
    def __init__(self, env, policy, critic):
        self.env, self.policy, self.critic = env, policy, critic

    @torch.no_grad()
    def collect(self, horizon, gamma=0.9, lam=0.9):
        buf = Buffer()
        for _ in range(horizon):
            obs = self.env.obs()
            dist = self.policy(obs)
            action = dist.sample()
            logp = dist.log_prob(action)
            value = self.critic(obs).squeeze(-1)
            _, rew, done = self.env.step(action.clamp(-1, 1))
            buf.add(obs=obs, act=action, logp=logp, val=value, rew=rew, done=done)
        return buf.finish(self.critic(self.env.obs()).squeeze(-1), gamma, lam)


def main(iters=10, epochs=3, eps=0.2):
    torch.manual_seed(9)
    policy = Policy()
    critic = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
    runner = Runner(Springs(), policy, critic)
    params = [*policy.parameters(), *critic.parameters()]
    optim = torch.optim.Adam([
        {"params": policy.parameters(), "lr": 1.5e-3},
        {"params": critic.parameters(), "lr": 1e-2},
    ])
    for it in range(iters):
        batch = runner.collect(16)
        for _ in range(epochs):
            for idx in torch.randperm(len(batch["adv"])).chunk(3):
                mb = {k: v[idx] for k, v in batch.items()}
                dist = policy(mb["obs"])
                ratio = torch.exp(dist.log_prob(mb["act"]) - mb["logp"])
                gain = torch.min(ratio * mb["adv"], ratio.clamp(1 - eps, 1 + eps) * mb["adv"])
                v_loss = (critic(mb["obs"]).squeeze(-1) - mb["ret"]).pow(2).mean()
                loss = -gain.mean() + 0.5 * v_loss - 0.001 * dist.entropy().mean()
                optim.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(params, 5.0)
                optim.step()
        if it % 3 == 0:
            print(f"iter {it} reward {batch['rew'].mean():.3f} v_loss {v_loss.item():.3f}")


if __name__ == "__main__":
    main()
