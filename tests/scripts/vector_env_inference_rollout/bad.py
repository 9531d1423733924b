import argparse
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 32), nn.ELU(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 32), nn.ELU(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(n_act) - 0.5)

    def dist(self, obs):
        return Normal(self.actor(obs), self.log_std.exp())

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


class CartEnv:
    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.state = torch.zeros(num_envs, 2)
        self.state.uniform_(-1, 1)

    def step(self, action):
        x, v = self.state.unbind(1)
        v = v + 0.1 * action.squeeze(1).clamp(-2, 2)
        x = x + 0.1 * v
        self.state = torch.stack([x, v], 1)
        reward = -(x**2 + 0.1 * v**2)
        reset = x.abs() > 2
        self.state = torch.where(reset[:, None], torch.rand_like(self.state) * 2 - 1, self.state)
        return self.state, reward, reset.float()


class Storage:
    def __init__(self):
        self.rows = []

    def add(self, **kw):
        self.rows.append(kw)

    def stacked(self):
        return {k: torch.stack([row[k] for row in self.rows]) for k in self.rows[0]}


class Runner:
    def __init__(self, env, cfg):
        self.env, self.cfg = env, cfg
        self.alg = ActorCritic(2, 1)
        self.optimizer = torch.optim.Adam(self.alg.parameters(), lr=cfg.lr)

    def learn(self):
        obs = self.env.state
        for it in range(self.cfg.iterations):
            storage = Storage()
            with torch.inference_mode():  # <- culprit
                for _ in range(self.cfg.steps):
                    d = self.alg.dist(obs)
                    act = d.sample()
                    nxt, rew, done = self.env.step(act)
                    storage.add(obs=obs, act=act, logp=d.log_prob(act).sum(-1), val=self.alg.value(obs), rew=rew, done=done)
                    obs = nxt
                last = self.alg.value(obs)
                data = storage.stacked()
                ret = torch.zeros_like(data["rew"])
                for t in reversed(range(self.cfg.steps)):
                    last = data["rew"][t] + self.cfg.gamma * last * (1 - data["done"][t])
                    ret[t] = last
                adv = ret - data["val"]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            stats = self.update(data, ret, adv)
            if it % 3 == 0:
                print(f"it {it} reward {data['rew'].mean():.3f} pi {stats[0]:+.4f} v {stats[1]:.4f}")

    def update(self, data, ret, adv):
        for _ in range(self.cfg.epochs):
            logp = self.alg.dist(data["obs"]).log_prob(data["act"]).sum(-1)
            ratio = (logp - data["logp"]).exp()
            pi = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            v = (self.alg.value(data["obs"]) - ret).pow(2).mean()
            self.optimizer.zero_grad()
            (pi + 0.5 * v).backward()
            nn.utils.clip_grad_norm_(self.alg.parameters(), 1.0)
            self.optimizer.step()
        return pi.item(), v.item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    for name, default in (("iterations", 10), ("steps", 12), ("epochs", 2), ("num_envs", 16)):
        ap.add_argument(f"--{name}", type=int, default=default)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--gamma", type=float, default=0.95)
    cfg = ap.parse_args()
    torch.manual_seed(0)
    Runner(CartEnv(cfg.num_envs), cfg).learn()
