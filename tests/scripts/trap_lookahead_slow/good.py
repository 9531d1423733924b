"""A2C with a Lookahead wrapper around Adam."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Lookahead:
    def __init__(self, base, k=5, alpha=0.5):
        self.base, self.k, self.alpha, self.n = base, k, alpha, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in base.param_groups]

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def step(self):
        self.base.step()
        self.n += 1
        if self.n % self.k:
            return
        for group, slow in zip(self.base.param_groups, self.slow):
            for fast, s in zip(group["params"], slow):
                s += self.alpha * (fast - s)
                fast.copy_(s)


torch.manual_seed(15)
torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 64), nn.ReLU())
        self.branches = nn.ModuleList([nn.Linear(64, n) for n in (3, 4)])  # multi-discrete
        self.value = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return [torch.distributions.Categorical(logits=b(h)) for b in self.branches], self.value(h).squeeze(-1)


net = ActorCritic()
opt = Lookahead(torch.optim.Adam(net.parameters(), lr=8e-3))
curve = []
for it in range(200):
    x = torch.randn(96, 7)
    dists, v = net(x)
    acts = torch.stack([d.sample() for d in dists], 1)
    logp = torch.stack([d.log_prob(a) for d, a in zip(dists, acts.unbind(1))], 1).sum(1)
    r = (acts[:, 0] == x[:, :3].argmax(1)).float() + (acts[:, 1] == x[:, 3:].argmax(1)).float()
    adv = (r - v).detach()
    entropy = sum(d.entropy() for d in dists).mean()
    loss = -(logp * adv).mean() + 0.5 * F.mse_loss(v, r) - 0.005 * entropy
    opt.zero_grad()
    loss.backward()
    opt.step()
    curve.append(r.mean().item())
print("reward (max 2) %.3f -> %.3f" % (sum(curve[:10]) / 10, sum(curve[-10:]) / 10))
