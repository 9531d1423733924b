"""Implicit Q-learning from a fixed dataset; the policy is advantage-weighted regression."""
import math

import torch
import torch.nn as nn

torch.set_num_threads(1)
EXP_ADV_MAX = 100.0


def make_dataset(n=1200, seed=0):
    g = torch.Generator().manual_seed(seed)
    s = torch.randn(n, 3, generator=g)
    expert = torch.tanh(s @ torch.tensor([[0.8, 0.0], [-0.5, 0.4], [0.0, 0.9]]))
    mix = (torch.rand(n, 1, generator=g) < 0.5).float()
    a = mix * expert + (1 - mix) * (2 * torch.rand(n, 2, generator=g) - 1)
    a = (a + 0.05 * torch.randn(n, 2, generator=g)).clamp(-1, 1)
    r = 1.0 - (a - expert).pow(2).sum(1)
    s2 = 0.7 * s + 0.3 * torch.randn(n, 3, generator=g)
    done = (torch.rand(n, generator=g) < 0.1).float()
    return dict(observations=s, actions=a, rewards=r, next_observations=s2, terminals=done)


def mlp(dims):
    mods = []
    for a, b in zip(dims[:-2], dims[1:-1]):
        mods += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*mods, nn.Linear(dims[-2], dims[-1]))


class TwinQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp([5, 48, 48, 1]), mlp([5, 48, 48, 1])

    def both(self, s, a):
        sa = torch.cat([s, a], 1)
        return self.q1(sa).squeeze(1), self.q2(sa).squeeze(1)

    def forward(self, s, a):
        return torch.min(*self.both(s, a))


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp([3, 48, 48, 2])
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, s):
        return torch.distributions.Normal(torch.tanh(self.net(s)), self.log_std.clamp(-5, 2).exp())


def asymmetric_l2(u, tau):
    return torch.mean(torch.abs(tau - (u < 0).float()) * u ** 2)


class IQL:
    def __init__(self, steps, tau=0.7, beta=3.0, discount=0.8, alpha=0.02):
        self.qf, self.q_target, self.vf, self.policy = TwinQ(), TwinQ(), mlp([3, 48, 48, 1]), GaussianPolicy()
        self.q_target.load_state_dict(self.qf.state_dict())
        self.q_target.requires_grad_(False)
        self.v_optimizer = torch.optim.Adam(self.vf.parameters(), lr=3e-3)
        self.q_optimizer = torch.optim.Adam(self.qf.parameters(), lr=3e-3)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.policy_lr = torch.optim.lr_scheduler.CosineAnnealingLR(self.policy_optimizer, steps)
        self.tau, self.beta, self.discount, self.alpha = tau, beta, discount, alpha

    def update(self, observations, actions, rewards, next_observations, terminals):
        with torch.no_grad():
            target_q = self.q_target(observations, actions)
            next_v = self.vf(next_observations).squeeze(1)

        v = self.vf(observations).squeeze(1)
        adv = target_q - v
        v_loss = asymmetric_l2(adv, self.tau)
        self.v_optimizer.zero_grad(set_to_none=True)
        v_loss.backward()
        self.v_optimizer.step()

        targets = rewards + (1.0 - terminals) * self.discount * next_v.detach()
        q_loss = sum(nn.functional.mse_loss(q, targets) for q in self.qf.both(observations, actions)) / 2
        self.q_optimizer.zero_grad(set_to_none=True)
        q_loss.backward()
        self.q_optimizer.step()
        with torch.no_grad():
            for tp, p in zip(self.q_target.parameters(), self.qf.parameters()):
                tp.add_(self.alpha * (p - tp))

        exp_adv = torch.exp(self.beta * adv.detach()).clamp(max=EXP_ADV_MAX)
        bc_losses = -self.policy(observations).log_prob(actions).sum(1)
        policy_loss = torch.mean(exp_adv * bc_losses)
        self.policy_optimizer.zero_grad(set_to_none=True)
        policy_loss.backward()
        self.policy_optimizer.step()
        self.policy_lr.step()
        return v_loss.item(), q_loss.item(), policy_loss.item(), exp_adv.mean().item()


torch.manual_seed(0)
data, steps = make_dataset(), 50
iql = IQL(steps)
for step in range(steps):
    idx = torch.randint(0, len(data["rewards"]), (64,))
    v, q, p, w = iql.update(**{k: x[idx] for k, x in data.items()})
    assert math.isfinite(p)
    if step % 10 == 0:
        print(f"step {step} v {v:.3f} q {q:.3f} policy {p:.3f} weight {w:.3f}")
