import torch
import torch.nn as nn
from torch.distributions import Independent, Normal

torch.set_num_threads(1)


def dense(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.ELU(), nn.Linear(h, o))


class WorldModel(nn.Module):
    def __init__(self, s=3, a=1):
        super().__init__()
        self.delta = dense(s + a, s)
        self.rew = dense(s + a, 1)

    def step(self, state, action):
        x = torch.cat([state, action], -1)
        return state + self.delta(x), self.rew(x).squeeze(-1)


class Actor(nn.Module):
    def __init__(self, s=3, a=1):
        super().__init__()
        self.net = dense(s, 2 * a)

    def forward(self, s):
        mu, raw = self.net(s).chunk(2, -1)
        return Independent(Normal(torch.tanh(mu), torch.nn.functional.softplus(raw) + 0.05), 1)


def true_step(s, a):
    pos, vel, goal = s.unbind(-1)
    vel = 0.8 * vel + 0.3 * a.squeeze(-1)
    pos = pos + 0.3 * vel
    nxt = torch.stack([pos, vel, goal], -1)
    return nxt, -(pos - goal).pow(2) - 0.01 * a.squeeze(-1).pow(2)


def initial(n):
    s = torch.zeros(n, 3)
    s[:, 2] = torch.rand(n) * 2 - 1
    return s


class Dreamer:
    def __init__(self, horizon=6, ent=1e-2, gamma=0.95):
        self.wm, self.actor = WorldModel(), Actor()
        self.horizon, self.ent, self.gamma = horizon, ent, gamma
        self.wm_opt = torch.optim.Adam(self.wm.parameters(), lr=3e-3)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def train_model(self, s, a, r, s2):
        ps2, pr = self.wm.step(s, a)
        loss = (ps2 - s2).pow(2).mean() + (pr - r).pow(2).mean()
        self.wm_opt.zero_grad()
        loss.backward()
        self.wm_opt.step()
        return loss.item()

    def imagine(self, s):
        ret, ent, disc = 0.0, 0.0, 1.0
        for _ in range(self.horizon):
            dist = self.actor(s)
            action = dist.rsample()
            s, r = self.wm.step(s, action)
            ret = ret + disc * r
            ent = ent + dist.entropy()
            disc *= self.gamma
        return ret, ent

    def train_actor(self, s):
        for p in self.wm.parameters():
            p.requires_grad_(False)
        ret, ent = self.imagine(s)
        loss = -(ret + self.ent * ent).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        for p in self.wm.parameters():
            p.requires_grad_(True)
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent, s = Dreamer(), initial(32)
    for it in range(30):
        with torch.no_grad():
            a = agent.actor(s).sample()
        s2, r = true_step(s, a)
        lm = agent.train_model(s, a, r, s2)
        la = agent.train_actor(s)
        s = s2 if it % 8 else initial(32)
        if it % 10 == 0:
            print(f"{it} model {lm:.4f} actor {la:.4f} reward {r.mean():.3f}")
