import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Buoys:
    """Steer between two buoys by bearings; each reading is missing one time in six."""

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)

    def reset(self):
        self.p = self.rng.uniform(-1, 1, (self.n, 2))
        return self.obs()

    def obs(self):
        read = np.concatenate([self.p, self.p + self.rng.normal(0, 0.1, self.p.shape)], 1)
        read[self.rng.random(read.shape) < 1 / 6] = np.nan
        return torch.tensor(read, dtype=torch.float32)

    def step(self, a):
        move = np.array([[0.15, 0], [-0.15, 0], [0, 0.15], [0, -0.15]])[a]
        self.p = np.clip(self.p + move, -1.2, 1.2)
        lost = self.rng.random(self.n) < 0.06
        self.p[lost] = self.rng.uniform(-1, 1, (lost.sum(), 2))
        reward = 0.4 - np.linalg.norm(self.p, axis=1)
        return self.obs(), torch.tensor(reward, dtype=torch.float32)


def prepare(obs):
    """Values with zeros for missing readings, plus flags and an estimated distance."""
    missing = torch.isnan(obs)
    clean = torch.nan_to_num(obs, nan=0.0)
    return torch.cat([clean, missing.float()], 1)


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.pi, self.v = nn.Linear(width + 1, 4), nn.Linear(width + 1, 1)
        self.mix = nn.Linear(8, 2)

    def forward(self, obs):
        x = prepare(obs)
        h = torch.relu(self.embed(x))
        sq = self.mix(x).pow(2).sum(1, keepdim=True)
        known = sq > 1e-6
        dist = torch.where(known, torch.where(known, sq, torch.ones_like(sq)).sqrt(), torch.zeros_like(sq))
        h = torch.cat([h, dist], 1)
        return F.log_softmax(self.pi(h), dim=1), self.v(h).squeeze(1)


def main(n=32, horizon=6, gamma=0.8):
    torch.manual_seed(46)
    env, net = Buoys(n, 46), Net()
    opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    obs = env.reset()
    for k in range(1, 181):
        logps, values, rewards, ents = [], [], [], []
        for _ in range(horizon):
            logp, v = net(obs)
            a = torch.multinomial(logp.detach().exp(), 1)
            obs, r = env.step(a.squeeze(1).numpy())
            logps.append(logp.gather(1, a).squeeze(1))
            ents.append(-(logp.exp() * logp).sum(1))
            values.append(v)
            rewards.append(r)
        with torch.no_grad():
            g = net(obs)[1]
        targets = []
        for r in reversed(rewards):
            g = r + gamma * g
            targets.insert(0, g)
        target, value = torch.stack(targets), torch.stack(values)
        adv = (target - value).detach()
        loss = -(adv * torch.stack(logps)).mean() + 0.5 * F.mse_loss(value, target) - 0.01 * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 30 == 0:
            ev = 1 - (target - value).var() / target.var()
            print(f"update {k} reward {torch.stack(rewards).mean():+.3f} entropy {torch.stack(ents).mean():.3f} ev {ev.item():+.2f}")


if __name__ == "__main__":
    main()
