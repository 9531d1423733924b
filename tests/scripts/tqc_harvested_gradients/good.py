import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
N_CRITICS, N_QUANTILES, DROP = 2, 8, 2


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class TQCModule(nn.Module):
    def __init__(self, obs=3, act=1):
        super().__init__()
        self.pi = mlp(obs, 2 * act)
        self.qf = nn.ModuleList(mlp(obs + act, N_QUANTILES) for _ in range(N_CRITICS))
        self.target_qf = copy.deepcopy(self.qf).requires_grad_(False)

    def act(self, obs):
        mu, log_std = self.pi(obs).chunk(2, -1)
        std = (-1 + torch.tanh(log_std)).exp()
        dist = torch.distributions.Normal(mu, std)
        u = dist.rsample()
        a = torch.tanh(u)
        logp = dist.log_prob(u) - 2 * (0.6931471805599453 - u - F.softplus(-2 * u))
        return a, logp.sum(-1)

    def quantiles(self, nets, obs, a):
        return torch.stack([q(torch.cat([obs, a], -1)) for q in nets], 1)


class Learner:
    def __init__(self, module, alpha=0.05, gamma=0.9, tau=0.02):
        self.module, self.alpha, self.gamma, self.tau = module, alpha, gamma, tau
        self.optimizers = {
            "qf": torch.optim.Adam(module.qf.parameters(), lr=2e-3),
            "policy": torch.optim.Adam(module.pi.parameters(), lr=1e-3),
        }
        self.params = {"qf": list(module.qf.parameters()), "policy": list(module.pi.parameters())}
        self.midpoints = (torch.arange(N_QUANTILES) + 0.5) / N_QUANTILES

    def compute_losses(self, b):
        m = self.module
        with torch.no_grad():
            a2, logp2 = m.act(b["next_obs"])
            z = m.quantiles(m.target_qf, b["next_obs"], a2).flatten(1).sort(-1).values[:, :-DROP]
            target = b["reward"][:, None] + self.gamma * (z - self.alpha * logp2[:, None])
        current = m.quantiles(m.qf, b["obs"], b["action"])
        td = target[:, None, None, :] - current[:, :, :, None]
        huber = torch.where(td.abs() > 1, td.abs() - 0.5, 0.5 * td.pow(2))
        weight = (self.midpoints[None, None, :, None] - (td < 0).float()).abs()
        qf_loss = (weight * huber).mean()

        for p in self.params["qf"]:
            p.requires_grad_(False)
        a, logp = m.act(b["obs"])
        qf_curr = m.quantiles(m.qf, b["obs"], a).mean((1, 2))
        for p in self.params["qf"]:
            p.requires_grad_(True)
        policy_loss = (self.alpha * logp - qf_curr).mean()
        return {"qf": qf_loss, "policy": policy_loss}

    def compute_gradients(self, losses):
        grads = {}
        for name, optim in self.optimizers.items():
            optim.zero_grad(set_to_none=True)
            losses[name].backward()
            grads.update({p: p.grad for p in self.params[name]})
        return grads

    def apply_gradients(self, grads):
        for name, optim in self.optimizers.items():
            for p in self.params[name]:
                p.grad = grads[p]
            optim.step()

    def update(self, batch):
        losses = self.compute_losses(batch)
        self.apply_gradients(self.compute_gradients(losses))
        with torch.no_grad():
            for p, t in zip(self.module.qf.parameters(), self.module.target_qf.parameters()):
                t.lerp_(p, self.tau)
        return {k: v.item() for k, v in losses.items()}


def sample(n):
    obs = torch.rand(n, 3) * 2 - 1
    action = torch.rand(n, 1) * 2 - 1
    reward = 1 - (action[:, 0] - 0.6 * obs[:, 0]).pow(2)
    return {"obs": obs, "action": action, "reward": reward, "next_obs": (obs + 0.1 * action).clamp(-1, 1)}


learner = Learner(TQCModule())
for it in range(150):
    stats = learner.update(sample(64))
    if it % 30 == 29:
        print(f"update {it + 1} qf {stats['qf']:.4f} policy {stats['policy']:.4f}")
