import torch
import torch.nn as nn
from torch.distributions import Categorical, kl_divergence

torch.set_num_threads(1)
torch.manual_seed(13)


class Ferry(object):
    """Steer a ferry between two currents; three rudder settings, batch of boats."""

    def __init__(self, boats=32):
        self.n = boats
        self.y = torch.zeros(boats)
        self.current = torch.randn(boats) * 0.3

    def obs(self):
        return torch.stack([self.y, self.current, self.y * self.current], dim=1)

    def step(self, rudder):
        self.y = (self.y + 0.25 * (rudder.float() - 1) + 0.3 * self.current).clamp(-2, 2)
        new_trip = torch.rand(self.n) < 0.15
        self.y = torch.where(new_trip, 3 * torch.rand(self.n) - 1.5, self.y)
        self.current = 0.95 * self.current + 0.1 * torch.randn(self.n)
        return self.obs(), 1 - self.y.abs()


class PolicyValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 3))
        self.v = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))

    def dist(self, x):
        return Categorical(logits=self.pi(x))


class AdaptiveKLPPO:
    def __init__(self, target_kl=0.01, gamma=0.7):
        self.net = PolicyValue()
        self.optim = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.beta, self.target_kl, self.gamma = 1.0, target_kl, gamma
        self.running_kl = torch.tensor(target_kl)

    def collect(self, env, steps=16):
        obs, acts, rews, logits = [], [], [], []
        x = env.obs()
        with torch.no_grad():
            for _ in range(steps):
                d = self.net.dist(x)
                a = d.sample()
                obs.append(x), acts.append(a), logits.append(d.logits)
                x, r = env.step(a)
                rews.append(r)
            ret, out = self.net.v(x).squeeze(-1), []
            for r in reversed(rews):
                ret = r + self.gamma * ret
                out.append(ret)
        return torch.cat(obs), torch.cat(acts), torch.cat(logits), torch.cat(out[::-1]), torch.stack(rews).mean()

    def improve(self, obs, acts, old_logits, returns, epochs=4):
        old = Categorical(logits=old_logits)
        old_logp = old.log_prob(acts)
        for _ in range(epochs):
            value = self.net.v(obs).squeeze(-1)
            adv = (returns - value).detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            new = self.net.dist(obs)
            ratio = torch.exp(new.log_prob(acts) - old_logp)
            kl = kl_divergence(old, new).mean()
            loss = -(ratio * adv).mean() + self.beta * kl + 0.5 * (returns - value).pow(2).mean()
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            self.running_kl = 0.9 * self.running_kl + 0.1 * kl.detach()
        if self.running_kl > 1.5 * self.target_kl:
            self.beta = min(self.beta * 1.5, 20.0)
        elif self.running_kl < self.target_kl / 1.5:
            self.beta = max(self.beta / 1.5, 0.05)


env, algo = Ferry(), AdaptiveKLPPO()
for it in range(40):
    obs, acts, logits, returns, mean_r = algo.collect(env)
    algo.improve(obs, acts, logits, returns)
    if it % 8 == 7:
        print(f"iter {it + 1} reward {mean_r.item():.3f} kl {float(algo.running_kl):.4f} beta {algo.beta:.2f}")
