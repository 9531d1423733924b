import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)


class AverageMeter:
    """Keeps a running average, as in the ImageNet example."""

    def __init__(self, name):
        self.name, self.val, self.sum, self.count = name, 0.0, 0.0, 0

    def update(self, val, n=1):
        self.val = val
        self.sum = self.sum + val * n
        self.count += n

    def __str__(self):
        return f"{self.name} {self.sum / max(1, self.count):+.4f}"


class Tracker:
    """follow a moving setpoint with a damped mass"""

    def __init__(self, n):
        self.n = n
        self.x, self.v = torch.zeros(n), torch.zeros(n)
        self.phase = torch.rand(n) * 6.28

    def obs(self):
        return torch.stack([self.x, self.v, self.phase.sin(), self.phase.cos()], 1)

    def step(self, u):
        self.v = 0.8 * self.v + 0.3 * u.squeeze(1).clamp(-2, 2)
        self.x = (self.x + 0.3 * self.v).clamp(-2, 2)
        self.phase = self.phase + 0.15
        return self.obs(), -0.3 * (self.x - self.phase.sin()).abs()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))
        self.v = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, o):
        return Normal(self.mu(o), self.log_std.exp())


@torch.no_grad()
def rollout(env, ac, steps, gamma=0.9, lam=0.9):
    O, A, L, R, V = [], [], [], [], []
    for _ in range(steps):
        o = env.obs()
        d = ac.dist(o)
        a = d.sample()
        O.append(o), A.append(a), L.append(d.log_prob(a).squeeze(-1)), V.append(ac.v(o).squeeze(-1))
        R.append(env.step(a)[1])
    V.append(ac.v(env.obs()).squeeze(-1))
    adv, run = [], torch.zeros(env.n)
    for t in reversed(range(steps)):
        run = R[t] + gamma * V[t + 1] - V[t] + gamma * lam * run
        adv.insert(0, run)
    adv = torch.stack(adv)
    ret = adv + torch.stack(V[:-1])
    return torch.cat(O), torch.cat(A), torch.cat(L), adv.flatten(), ret.flatten(), torch.stack(R).mean().item()


def main(iters=22, epochs=3, clip=0.2):
    torch.manual_seed(25)
    env, ac = Tracker(16), ActorCritic()
    opt = torch.optim.Adam(ac.parameters(), lr=3e-3)
    meters = {k: AverageMeter(k) for k in ("policy", "value", "entropy")}
    for it in range(iters):
        O, A, L, adv, ret, score = rollout(env, ac, 16)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(epochs):
            for idx in torch.randperm(len(O)).split(128):
                d = ac.dist(O[idx])
                ratio = (d.log_prob(A[idx]).squeeze(-1) - L[idx]).exp()
                policy = -torch.min(ratio * adv[idx], ratio.clamp(1 - clip, 1 + clip) * adv[idx]).mean()
                value = (ac.v(O[idx]).squeeze(-1) - ret[idx]).pow(2).mean()
                entropy = d.entropy().mean()
                opt.zero_grad()
                (policy + 0.5 * value - 0.005 * entropy).backward()
                nn.utils.clip_grad_norm_(ac.parameters(), 5.0)
                opt.step()
                for key, val in (("policy", policy), ("value", value), ("entropy", entropy)):
                    meters[key].update(val.item(), len(idx))
        if it % 5 == 4:
            print(f"it {it} reward {score:+.3f} " + " ".join(map(str, meters.values())))


if __name__ == "__main__":
    main()
