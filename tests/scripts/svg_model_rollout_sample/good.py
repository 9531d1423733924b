import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)


def reward(s, a):
    return -(s[:, 0] ** 2 + 0.1 * s[:, 1] ** 2 + 0.01 * a[:, 0] ** 2)


class Cart:
    """The real system: a cart with friction, n copies at once."""

    def reset(self, n):
        self.s = torch.randn(n, 2)
        return self.s

    def step(self, a):
        x, v = self.s.unbind(1)
        v = 0.95 * v + 0.3 * a[:, 0].clamp(-2, 2) + 0.01 * torch.randn_like(v)
        self.s = torch.stack([(x + 0.3 * v).clamp(-5, 5), v], 1)
        return self.s


class Model(nn.Module):
    """Predicts the change of state."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 2))

    def forward(self, s, a):
        return s + self.net(torch.cat([s, a], 1))


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
        self.mean = nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.full((1,), -1.0))

    def forward(self, s):
        return Normal(self.mean(self.trunk(s)), self.log_std.exp())


class Learner:
    def __init__(self, horizon=6, gamma=0.95):
        self.model, self.policy = Model(), GaussianPolicy()
        self.model_opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.horizon, self.gamma = horizon, gamma

    def fit_model(self, s, a, s2, passes=2):
        for _ in range(passes):
            loss = (self.model(s, a) - s2).pow(2).mean()
            self.model_opt.zero_grad()
            loss.backward()
            self.model_opt.step()
        return loss.item()

    def imagine(self, s):
        total = 0.0
        for k in range(self.horizon):
            a = self.policy(s).rsample()
            total = total + self.gamma ** k * reward(s, a)
            s = self.model(s, a)
        return total + self.gamma ** self.horizon * reward(s, torch.zeros(len(s), 1))

    def improve(self, s):
        loss = -self.imagine(s).mean()
        self.policy_opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.policy_opt.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    real, learner = Cart(), Learner()
    for it in range(25):
        s, rows, score = real.reset(32), [], 0.0
        for _ in range(8):
            with torch.no_grad():
                a = learner.policy(s).sample()
                score += reward(s, a).mean().item()
            s2 = real.step(a)
            rows.append((s, a, s2))
            s = s2
        S, A, S2 = (torch.cat(c) for c in zip(*rows))
        model_loss = learner.fit_model(S, A, S2)
        policy_loss = learner.improve(S)
        if it % 5 == 0:
            print(f"iteration {it}: score {score:.2f}, model error {model_loss:.4f}, imagined cost {policy_loss:.3f}")


main()
