import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)


class Forage:
    """Vectorised: four berry bushes regrow at hidden, different speeds; travelling takes effort."""

    def __init__(self, n=24, bushes=4):
        self.n, self.k = n, bushes
        self.speed = torch.linspace(0.1, 0.4, bushes)

    def reset(self):
        self.stock = torch.rand(self.n, self.k)
        self.at = torch.randint(0, self.k, (self.n,))
        return self.obs()

    def obs(self):
        return torch.cat([F.one_hot(self.at, self.k).float(), self.stock], 1)

    def step(self, a):
        rows = torch.arange(self.n)
        effort = 0.1 * (a != self.at).float()
        gain = self.stock[rows, a] - effort
        self.stock[rows, a] = 0.0
        self.stock = (self.stock + self.speed * torch.rand(self.n, self.k)).clamp(max=1.0)
        self.at = a
        return self.obs(), gain


class Net(nn.Module):
    def __init__(self, n_in=8, n_act=4):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, n_act), nn.Linear(64, 1)

    def forward(self, x):
        h = self.shared(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class A2C:
    def __init__(self, env, horizon=6, gamma=0.8, lr=3e-3, vf_coef=0.5, ent_coef=0.1):
        self.env, self.net = env, Net()
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=lr, alpha=0.99, eps=1e-5)
        self.horizon, self.gamma = horizon, gamma
        self.vf_coef, self.ent_coef = vf_coef, ent_coef
        self.obs = env.reset()

    def collect(self):
        logps, values, ents, rewards = [], [], [], []
        for _ in range(self.horizon):
            dist, value = self.net(self.obs)
            a = dist.sample()
            self.obs, r = self.env.step(a)
            for store, x in zip((logps, values, ents, rewards), (dist.log_prob(a), value, dist.entropy(), r)):
                store.append(x)
        return [torch.stack(x) for x in (logps, values, ents, rewards)]

    def returns(self, rewards):
        with torch.no_grad():
            g, out = self.net(self.obs)[1], []
        for r in rewards.flip(0):
            g = r + self.gamma * g
            out.append(g)
        return torch.stack(out[::-1])

    def update(self):
        logps, values, ents, rewards = self.collect()
        target = self.returns(rewards)
        adv = target - values.detach()
        policy_loss = -(adv * logps).mean()
        value_loss = F.mse_loss(values, target)
        entropy_loss = -ents.mean()
        total = policy_loss + self.vf_coef * value_loss + self.ent_coef * entropy_loss
        self.opt.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.opt.step()
        ev = 1 - (target - values).var() / target.var()
        return rewards.mean().item(), ents.mean().item(), value_loss.item(), ev.item()


if __name__ == "__main__":
    torch.manual_seed(5)
    agent = A2C(Forage())
    for i in range(1, 241):
        reward, ent, vl, ev = agent.update()
        if i % 40 == 0:
            print(f"update {i} reward {reward:.3f} entropy {ent:.3f} value loss {vl:.4f} ev {ev:.2f}")
