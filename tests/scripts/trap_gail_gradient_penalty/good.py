"""GAIL: imitate a linear controller. The discriminator's score is the reward and is computed under no_grad."""
import numpy as np
import torch
import torch.nn as nn
from discriminator import Discriminator
from torch.distributions import Normal

torch.set_num_threads(1)


class Regulator:
    """Noisy linear system in numpy, n copies."""

    def __init__(self, n, seed):
        self.rng, self.n = np.random.default_rng(seed), n
        self.s = self.rng.normal(size=(n, 3))

    def step(self, u):
        drift = self.s @ np.array([[0.8, 0.1, 0.0], [0.0, 0.8, 0.1], [0.1, 0.0, 0.8]])
        self.s = drift + 0.3 * np.concatenate([u, u[:, :1]], 1) + 0.2 * self.rng.normal(size=(self.n, 3))
        return self.obs()

    def obs(self):
        return torch.tensor(self.s, dtype=torch.float32)


def expert_transitions(steps=40):
    env, gain, rows = Regulator(8, seed=7), np.array([[-0.6, 0.2], [0.3, -0.7], [0.0, 0.4]]), []
    for _ in range(steps):
        u = env.s @ gain + 0.05 * env.rng.normal(size=(8, 2))
        rows.append(torch.cat([env.obs(), torch.tensor(u, dtype=torch.float32)], 1))
        env.step(u)
    return torch.cat(rows)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), -1.0))
        self.v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, s):
        return Normal(self.mu(s), self.log_std.exp())

    def value(self, s):
        return self.v(s).squeeze(-1)


def collect(env, policy, horizon):
    S, A, L = [], [], []
    s = env.obs()
    with torch.no_grad():
        for _ in range(horizon):
            d = policy.dist(s)
            a = d.sample()
            S.append(s), A.append(a), L.append(d.log_prob(a).sum(-1))
            s = env.step(a.numpy().astype(np.float64))
    return torch.stack(S), torch.stack(A), torch.stack(L), s


def returns_from(rewards, last, gamma):
    out = []
    for r in rewards.flip(0):
        last = r + gamma * last
        out.append(last)
    return torch.stack(out[::-1])


def main(iterations=12, epochs=4, gamma=0.5):
    torch.manual_seed(0)
    expert, env, policy = expert_transitions(), Regulator(16, seed=1), Policy()
    disc = Discriminator(3, 2)
    opt = torch.optim.Adam([{"params": [*policy.mu.parameters(), policy.log_std], "lr": 2e-3},
                            {"params": policy.v.parameters(), "lr": 1e-2}])
    for it in range(iterations):
        S, A, L, last = collect(env, policy, 8)
        sa = torch.cat([S, A], -1).flatten(0, 1)
        for _ in range(5):
            pick = torch.randint(0, len(expert), (len(sa),))
            bce, gp = disc.update(expert[pick], sa)
        rewards = disc.reward(sa).view(S.shape[:2])
        with torch.no_grad():
            ret = returns_from(rewards, policy.value(last), gamma)
            adv = ret - policy.value(S)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(epochs):
            d = policy.dist(S)
            ratio = (d.log_prob(A).sum(-1) - L).exp()
            pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            vf = (policy.value(S) - ret).pow(2).mean()
            opt.zero_grad()
            (pg + 0.5 * vf - 0.001 * d.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()
        if it % 3 == 0:
            print(f"iteration {it} bce {bce:.3f} gp {gp:.3f} reward {rewards.mean():.3f} pg {pg.item():.3f} vf {vf.item():.3f}")


if __name__ == "__main__":
    main()
