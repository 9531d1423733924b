"""LIRPG-like: an intrinsic reward net is trained so that one inner policy-gradient step improves the true return."""
import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.func import functional_call

torch.manual_seed(141)
torch.set_num_threads(1)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))
intrinsic = nn.Sequential(nn.Linear(4 + 3, 24), nn.Tanh(), nn.Linear(24, 1))
meta_opt = torch.optim.Adam(intrinsic.parameters(), lr=5e-3)
INNER_LR = 0.5
W = torch.randn(3, 4)


def act(params, n):
    obs = torch.randn(n, 4)
    dist = Categorical(logits=functional_call(policy, params, (obs,)))
    a = dist.sample()
    true = (a == (obs @ W.t()).argmax(1)).float()
    return obs, a, dist.log_prob(a), true


def bonus(obs, a):
    return intrinsic(torch.cat([obs, nn.functional.one_hot(a, 3).float()], 1)).squeeze(1)


curve = []
for it in range(150):
    params = dict(policy.named_parameters())
    obs, a, logp, true = act(params, 128)
    weight = true - true.mean() + bonus(obs, a)  # graph of the intrinsic net is wanted here
    inner = -(logp * weight).mean()
    grads = torch.autograd.grad(inner, tuple(params.values()), create_graph=True)
    adapted = {k: p - INNER_LR * g for (k, p), g in zip(params.items(), grads)}

    _, _, logp2, true2 = act(adapted, 128)
    outer = -(logp2 * (true2 - true2.mean())).mean()
    meta_grads = torch.autograd.grad(outer, tuple(intrinsic.parameters()))
    for p, g in zip(intrinsic.parameters(), meta_grads):
        p.grad = g
    meta_opt.step()

    with torch.no_grad():
        for k, p in policy.named_parameters():
            p.copy_(adapted[k])
    curve.append(true.mean().item())
print("true reward %.3f -> %.3f" % (sum(curve[:10]) / 10, sum(curve[-10:]) / 10))
