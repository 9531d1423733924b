import itertools
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.normal import Normal

torch.set_num_threads(1)


def mlp(sizes, activation, output_activation=nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        act = activation if j < len(sizes) - 2 else output_activation
        layers += [nn.Linear(sizes[j], sizes[j + 1]), act()]
    return nn.Sequential(*layers)


class SquashedGaussianMLPActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.net = mlp([obs_dim] + hidden, nn.ReLU, nn.ReLU)
        self.mu_layer = nn.Linear(hidden[-1], act_dim)
        self.log_std_layer = nn.Linear(hidden[-1], act_dim)

    def forward(self, obs):
        out = self.net(obs)
        std = torch.exp(torch.clamp(self.log_std_layer(out), -20, 2))
        dist = Normal(self.mu_layer(out), std)
        u = dist.rsample()
        logp = dist.log_prob(u).sum(-1)
        logp -= (2 * (np.log(2) - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp


class MLPQFunction(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.q = mlp([obs_dim + act_dim] + hidden + [1], nn.ReLU)

    def forward(self, obs, act):
        return self.q(torch.cat([obs, act], -1)).squeeze(-1)


class MLPActorCritic(nn.Module):
    def __init__(self, obs_dim=2, act_dim=2, hidden=(48, 48)):
        super().__init__()
        hidden = list(hidden)
        self.pi = SquashedGaussianMLPActor(obs_dim, act_dim, hidden)
        self.q1 = MLPQFunction(obs_dim, act_dim, hidden)
        self.q2 = MLPQFunction(obs_dim, act_dim, hidden)


def sac(steps=160, batch=64, gamma=0.9, polyak=0.98, alpha=0.05, lr=1e-3):
    torch.manual_seed(0)
    ac = MLPActorCritic()
    ac_targ = deepcopy(ac)
    for p in ac_targ.parameters():
        p.requires_grad = False
    q_params = list(itertools.chain(ac.q1.parameters(), ac.q2.parameters()))
    pi_optimizer = torch.optim.Adam(ac.pi.parameters(), lr=lr)
    q_optimizer = torch.optim.Adam(q_params, lr=lr)

    def compute_loss_q(o, a, r, o2):
        q1, q2 = ac.q1(o, a), ac.q2(o, a)
        with torch.no_grad():
            a2, logp_a2 = ac.pi(o2)
            q_pi_targ = torch.min(ac_targ.q1(o2, a2), ac_targ.q2(o2, a2))
            backup = r + gamma * (q_pi_targ - alpha * logp_a2)
        return ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()

    def compute_loss_pi(o):
        pi, logp_pi = ac.pi(o)
        q_pi = torch.min(ac.q1(o, pi), ac.q2(o, pi))
        return (alpha * logp_pi - q_pi).mean()

    def update(data):
        loss_q = compute_loss_q(*data)
        loss_q.backward()
        q_optimizer.step()
        q_optimizer.zero_grad()

        for p in q_params:
            p.requires_grad = False
        loss_pi = compute_loss_pi(data[0])
        loss_pi.backward()
        pi_optimizer.step()
        pi_optimizer.zero_grad()
        for p in q_params:
            p.requires_grad = True

        with torch.no_grad():
            for p, p_targ in zip(ac.parameters(), ac_targ.parameters()):
                p_targ.data.mul_(polyak)
                p_targ.data.add_((1 - polyak) * p.data)
        return loss_q.item(), loss_pi.item()

    for t in range(steps):
        o = torch.rand(batch, 2) * 2 - 1
        a = torch.rand(batch, 2) * 2 - 1
        r = 1 - (a + 0.5 * o).pow(2).sum(-1)
        o2 = (o + 0.2 * a).clamp(-1, 1)
        lq, lp = update((o, a, r, o2))
        if t % 32 == 31:
            print(f"step {t + 1} loss_q {lq:.4f} loss_pi {lp:.4f}")


if __name__ == "__main__":
    sac()
