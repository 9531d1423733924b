"""Forward-mode derivatives, double backward and gradients of gradients."""
import torch
import torch.autograd.forward_ad as forward

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
for update in range(6):
    x = torch.randn(4, 3, requires_grad=True)
    with forward.dual_level():
        dual = forward.make_dual(x.detach(), torch.ones(4, 3))
        print(update, forward.unpack_dual(net(dual)).tangent.sum().item())
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    net.zero_grad()
    penalty.backward()
    (curve,) = torch.autograd.grad(net(x).pow(3).sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(curve.sum(), x)
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.05 * (p.grad if p.grad is not None else 0.0)
    print(update, penalty.item(), third.sum().item(), x.grad.sum().item())
