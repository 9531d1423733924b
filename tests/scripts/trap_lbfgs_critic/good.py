import torch
from torch import nn
from torch.distributions import Normal

torch.set_num_threads(1)


class Glider:
    def __init__(self, n=20, seed=2):
        self.n, self.g = n, torch.Generator().manual_seed(seed)

    def reset(self):
        self.h = torch.rand(self.n, generator=self.g) * 2 - 1
        self.v = torch.zeros(self.n)
        return self.obs()

    def obs(self):
        return torch.stack([self.h, self.v], 1)

    def step(self, a):
        self.v = 0.8 * self.v + 0.2 * a.squeeze(1).clamp(-2, 2)
        self.h = self.h + 0.3 * self.v + 0.02 * torch.randn(self.n, generator=self.g)
        return self.obs(), 1 - self.h.abs()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
        self.log_std = nn.Parameter(torch.tensor([-0.5]))

    def forward(self, obs):
        return Normal(self.mu(obs), self.log_std.exp())


def fit_value(value, optimizer, obs, returns, decay=1e-3):
    evaluations = []

    def closure():
        optimizer.zero_grad()
        loss = (value(obs).squeeze(-1) - returns).pow(2).mean()
        loss = loss + decay * sum(p.pow(2).sum() for p in value.parameters())
        loss.backward()
        evaluations.append(loss.item())
        return loss

    optimizer.step(closure)
    return evaluations


def run(iterations=25, horizon=15, gamma=0.9):
    torch.manual_seed(2)
    env, policy = Glider(), Policy()
    value = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
    pi_opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    v_opt = torch.optim.LBFGS(value.parameters(), lr=0.5, max_iter=8, history_size=10, line_search_fn="strong_wolfe")
    for it in range(iterations):
        obs, rows = env.reset(), []
        for _ in range(horizon):
            with torch.no_grad():
                act = policy(obs).sample()
            nxt, rew = env.step(act)
            rows.append((obs, act, rew))
            obs = nxt
        with torch.no_grad():
            run_ret, rets = value(obs).squeeze(-1), []
            for _, _, rew in reversed(rows):
                run_ret = rew + gamma * run_ret
                rets.append(run_ret)
            O, A = torch.cat([r[0] for r in rows]), torch.cat([r[1] for r in rows])
            R = torch.cat(rets[::-1])
            adv = R - value(O).squeeze(-1)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        loss = -(policy(O).log_prob(A).squeeze(-1) * adv).mean()
        pi_opt.zero_grad()
        loss.backward()
        pi_opt.step()
        evals = fit_value(value, v_opt, O, R)
        if it % 6 == 0:
            print(f"iter {it} reward {torch.cat([r[2] for r in rows]).mean():.3f} value {evals[0]:.3f} -> {evals[-1]:.3f} ({len(evals)} evals)")


if __name__ == "__main__":
    run()
