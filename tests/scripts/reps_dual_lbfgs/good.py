import math

import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)


class Thrower(nn.Module):
    """Gaussian over release angle and speed given the distance of the basket."""

    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, d):
        return Normal(self.mean(d), self.log_std.exp())


def throw(distance, action):
    angle = 0.8 + 0.3 * action[:, 0]
    speed = 3.0 + action[:, 1]
    reach = speed.pow(2) * torch.sin(2 * angle) / 9.81
    return -(reach - distance.squeeze(1)).abs()


def solve_dual(returns, epsilon):
    log_eta = torch.zeros(1, requires_grad=True)
    solver = torch.optim.LBFGS([log_eta], lr=0.5, max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        eta = log_eta.exp() + 1e-3
        dual = eta * epsilon + eta * (torch.logsumexp(returns / eta, 0) - math.log(len(returns)))
        dual = dual.sum()
        dual.backward()
        return dual

    solver.step(closure)
    return log_eta.exp().item() + 1e-3


def fit(policy, opt, d, a, weights, epochs=8):
    for _ in range(epochs):
        logp = policy(d).log_prob(a).sum(1)
        loss = -(weights * logp).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def main():
    torch.manual_seed(41)
    policy = Thrower()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for it in range(30):
        d = torch.rand(128, 1) + 0.5
        with torch.no_grad():
            a = policy(d).sample()
        ret = throw(d, a)
        eta = solve_dual(ret - ret.max(), epsilon=0.5)
        weights = torch.softmax(ret / eta, 0)
        loss = fit(policy, opt, d, a, weights)
        if it % 6 == 5:
            ess = 1 / weights.pow(2).sum()
            print(f"iter {it + 1} return {ret.mean():.3f} eta {eta:.3f} effective samples {ess:.1f} nll {loss:.3f}")


if __name__ == "__main__":
    main()
