"""Actor-critic with PopArt value normalisation; the reward scale grows 100x during training."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(201)
torch.set_num_threads(1)


class PopArt(nn.Module):
    def __init__(self, dim, beta=0.05):
        super().__init__()
        self.lin = nn.Linear(dim, 1)
        self.beta = beta
        self.register_buffer("mu", torch.zeros(1))
        self.register_buffer("nu", torch.ones(1))

    @property
    def sigma(self):
        return (self.nu - self.mu**2).clamp(min=1e-4).sqrt()

    def forward(self, h):
        return self.lin(h).squeeze(-1)

    def denormalise(self, x):
        return x * self.sigma + self.mu

    def normalise(self, x):
        return (x - self.mu) / self.sigma

    @torch.no_grad()
    def observe(self, target):
        old_mu, old_sigma = self.mu.clone(), self.sigma.clone()
        self.mu.lerp_(target.mean(), self.beta)
        self.nu.lerp_(target.pow(2).mean(), self.beta)
        self.lin.weight.mul_(old_sigma / self.sigma)
        self.lin.bias.mul_(old_sigma).add_(old_mu - self.mu).div_(self.sigma)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 64), nn.Tanh())
        self.pi = nn.Linear(64, 3)
        self.v = PopArt(64)


ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=3e-3)
acc, ev = [], []
for it in range(200):
    scale = 1.0 if it < 80 else 100.0
    x = torch.randn(96, 5)
    h = ac.body(x)
    dist = torch.distributions.Categorical(logits=ac.pi(h))
    a = dist.sample()
    hit = (a == x[:, :3].argmax(1)).float()
    reward = scale * (hit + 0.5 * x[:, 4])
    ac.v.observe(reward)
    vn = ac.v(ac.body(x))
    target = ac.v.normalise(reward)
    adv = (target - vn).detach()
    loss = -(dist.log_prob(a) * adv).mean() + 0.5 * F.mse_loss(vn, target) - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    acc.append(hit.mean().item())
    with torch.no_grad():
        pred = ac.v.denormalise(vn)
        ev.append(1 - (reward - pred).var().item() / reward.var().item())
print("hit rate %.3f -> %.3f" % (sum(acc[:10]) / 10, sum(acc[-10:]) / 10))
print("explained variance %.3f -> %.3f, sigma %.1f" % (ev[0], sum(ev[-10:]) / 10, ac.v.sigma.item()))
