"""Behaviour cloning with SAM."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]))
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e_w"] = e
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                p.sub_(self.state[p]["e_w"])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


torch.manual_seed(231)
torch.set_num_threads(1)
X = torch.randn(800, 7)
teacher = torch.randn(7, 4)
Y = ((X + 0.3 * X.roll(1, 1).pow(2)) @ teacher).argmax(1)
Xv, Yv = X[600:], Y[600:]
net = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
losses = []
for it in range(150):
    idx = torch.randint(600, (100,))
    loss = F.cross_entropy(net(X[idx]), Y[idx])
    loss.backward()
    opt.first_step(zero_grad=True)
    F.cross_entropy(net(X[idx]), Y[idx]).backward()
    opt.second_step(zero_grad=True)
    losses.append(loss.item())
with torch.no_grad():
    acc = (net(Xv).argmax(1) == Yv).float().mean().item()
print("loss %.3f -> %.3f, held-out accuracy %.3f" % (losses[0], sum(losses[-10:]) / 10, acc))
