import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2 + 3, 32), nn.ELU(), nn.Linear(32, 3))

    def forward(self, s, a):
        out = self.f(torch.cat([s, F.one_hot(a, 3).float()], -1))
        return s + out[:, :2], out[:, 2]


def real_step(s, a):
    push = (a.float() - 1) * 0.3
    v = 0.8 * s[:, 1] + push
    x = s[:, 0] + 0.3 * v
    return torch.stack([x, v], -1), -x.abs()


actor = nn.Sequential(nn.Linear(2, 32), nn.ELU(), nn.Linear(32, 3))
value = nn.Sequential(nn.Linear(2, 32), nn.ELU(), nn.Linear(32, 1))


def imagine(model, start, horizon=5):
    states, logps, ents, rewards = [], [], [], []
    s = start
    for _ in range(horizon):
        dist = Categorical(logits=actor(s))
        a = dist.sample()
        states.append(s)
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        with torch.no_grad():
            s, r = model(s, a)
        rewards.append(r)
    states.append(s)
    return torch.stack(states), torch.stack(logps), torch.stack(ents), torch.stack(rewards)


def lambda_returns(rewards, values, gamma=0.95, lam=0.9):
    out, nxt = [], values[-1]
    for r, v in zip(rewards.flip(0), values[1:].flip(0)):
        nxt = r + gamma * ((1 - lam) * v + lam * nxt)
        out.append(nxt)
    return torch.stack(out[::-1])


def main():
    torch.manual_seed(0)
    for net in (actor, value):
        for m in net:
            if isinstance(m, nn.Linear):
                m.reset_parameters()
    model = Model()
    m_opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    a_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
    v_opt = torch.optim.Adam(value.parameters(), lr=5e-3)
    s = torch.randn(24, 2)
    for it in range(30):
        with torch.no_grad():
            a = Categorical(logits=actor(s)).sample()
        s2, r = real_step(s, a)
        ps, pr = model(s, a)
        m_loss = F.mse_loss(ps, s2) + F.mse_loss(pr, r)
        m_opt.zero_grad()
        m_loss.backward()
        m_opt.step()

        states, logps, ents, rews = imagine(model, s2)
        v = value(states).squeeze(-1)
        rets = lambda_returns(rews, v.detach())
        adv = rets - v[:-1].detach()
        a_loss = -(logps * adv + 0.01 * ents).mean()
        v_loss = F.mse_loss(v[:-1], rets)
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        v_opt.zero_grad()
        v_loss.backward()
        v_opt.step()
        s = s2 if it % 10 else torch.randn(24, 2)
        if it % 10 == 0:
            print(it, f"model {m_loss.item():.4f} actor {a_loss.item():.4f} value {v_loss.item():.4f}")


main()
