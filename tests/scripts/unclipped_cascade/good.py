import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)

SETTINGS = {"clip_percent": 20, "epochs": 10, "minibatches": 4, "lr": 1e-2, "gamma": 0.95, "envs": 24, "steps": 8}


class Cascade:
    """Three reservoirs in a row; release from one of them or wait."""

    def __init__(self, n):
        self.n = n
        self.level = torch.rand(n, 3)

    def obs(self):
        return torch.cat([self.level, 1 - self.level.sum(1, keepdim=True) / 3], 1)

    def step(self, a):
        inflow = 0.1 * torch.rand(self.n, 3)
        release = torch.zeros(self.n, 4).scatter(1, a[:, None], 0.3)[:, :3]
        release = torch.min(release, self.level)
        level = self.level + inflow - release
        level[:, 1:] = level[:, 1:] + 0.8 * release[:, :-1]
        spill = (level - 1).clamp(min=0).sum(1)
        self.level = level.clamp(0, 1)
        price = torch.tensor([1.0, 1.5, 2.0])
        return (release * price).sum(1) * 2 - 3 * spill


class Operator(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 4))
        self.v = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return Categorical(logits=self.pi(x)), self.v(x).squeeze(-1)


@torch.no_grad()
def rollout(env, net, cfg):
    rows = []
    for _ in range(cfg["steps"]):
        x = env.obs()
        dist, v = net(x)
        a = dist.sample()
        rows.append((x, a, dist.log_prob(a), v, env.step(a)))
    x, a, logp, v, r = (torch.stack(c) for c in zip(*rows))
    run, rets = net(env.obs())[1], []
    for t in reversed(range(cfg["steps"])):
        run = r[t] + cfg["gamma"] * run
        rets.insert(0, run)
    ret = torch.stack(rets)
    return x.flatten(0, 1), a.flatten(), logp.flatten(), (ret - v).flatten(), ret.flatten(), r.mean().item()


def update(net, opt, batch, cfg):
    x, a, old, adv, ret, _ = batch
    eps = cfg["clip_percent"] / 100
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(cfg["epochs"]):
        for rows in torch.randperm(len(a)).chunk(cfg["minibatches"]):
            dist, v = net(x[rows])
            ratio = (dist.log_prob(a[rows]) - old[rows]).exp()
            clipped = ratio.clamp(1 - eps, 1 + eps)
            policy_loss = -torch.min(ratio * adv[rows], clipped * adv[rows]).mean()
            loss = policy_loss + 0.5 * (v - ret[rows]).pow(2).mean() - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
    with torch.no_grad():
        log_ratio = net(x)[0].log_prob(a) - old
        return (log_ratio.exp() - 1 - log_ratio).mean().item(), log_ratio.exp().max().item()


def main(cfg):
    torch.manual_seed(65)
    env, net = Cascade(cfg["envs"]), Operator()
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    for it in range(20):
        batch = rollout(env, net, cfg)
        kl, top = update(net, opt, batch, cfg)
        if it % 3 == 0:
            print(f"iter {it} reward {batch[-1]:.3f} approximate kl {kl:.4f} largest ratio {top:.2f}")


if __name__ == "__main__":
    main(SETTINGS)
