import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Market:
    def __init__(self, n=32, seed=12):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.trend, self.pos = torch.zeros(n), torch.zeros(n)
        self.noise = torch.zeros(n)

    def obs(self):
        return torch.stack([self.trend + self.noise, self.pos, self.trend * self.pos], 1)

    def step(self, a):
        new = a.float() - 1
        reward = new * self.trend - 0.05 * (new - self.pos).abs()
        self.pos = new
        self.trend = 0.9 * self.trend + 0.3 * torch.randn(self.n, generator=self.g)
        self.noise = 0.1 * torch.randn(self.n, generator=self.g)
        return reward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, 32), nn.LayerNorm(32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Agent:
    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    @torch.no_grad()
    def rollout(self, env, T=16, gamma=0.5):
        self.net.eval()
        rows = {k: [] for k in ("obs", "act", "logp", "val", "rew")}
        for _ in range(T):
            o = env.obs()
            d, v = self.net(o)
            a = d.sample()
            for k, x in zip(rows, (o, a, d.log_prob(a), v, env.step(a))):
                rows[k].append(x)
        run, rets = self.net(env.obs())[1], []
        for r in reversed(rows["rew"]):
            run = r + gamma * run
            rets.insert(0, run)
        b = {k: torch.cat(v) for k, v in rows.items()}
        b["ret"] = torch.cat(rets)
        adv = b["ret"] - b["val"]
        b["adv"] = (adv - adv.mean()) / (adv.std() + 1e-8)
        return b

    def update(self, b):
        self.net.train()
        first = None
        for _ in range(3):
            for idx in torch.randperm(len(b["act"])).chunk(2):
                d, v = self.net(b["obs"][idx])
                ratio = (d.log_prob(b["act"][idx]) - b["logp"][idx]).exp()
                first = (ratio - 1).abs().max().item() if first is None else first
                adv = b["adv"][idx]
                pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                loss = pg + 0.5 * (v - b["ret"][idx]).pow(2).mean() - 0.01 * d.entropy().mean()
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.opt.step()
        return first


if __name__ == "__main__":
    torch.manual_seed(12)
    env, agent = Market(), Agent()
    for it in range(12):
        batch = agent.rollout(env)
        drift = agent.update(batch)
        if it % 3 == 0:
            print(f"iter {it} reward {batch['rew'].mean():.3f} first ratio off by {drift:.1e}")
