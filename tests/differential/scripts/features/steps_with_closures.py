"""Steps with closures and inside backward, accumulation, clipping by hand, manual gradients."""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
search = torch.optim.LBFGS(net.parameters(), max_iter=4)
calls = 0


def closure():
    global calls
    calls += 1
    search.zero_grad()
    loss = (net(torch.ones(4, 3)) - 2.0).pow(2).mean()
    loss.backward()
    return loss


for _ in range(12):
    print(search.step(closure).item(), calls)
tied = torch.nn.Linear(3, 3)
optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in tied.parameters()}


def apply(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in tied.parameters():
    p.register_post_accumulate_grad_hook(apply)
plain = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(12):
    tied(torch.randn(2, 3)).pow(2).mean().backward()
    (net(torch.randn(4, 3)).mean() / 2).backward()
    (net(torch.randn(4, 3)).mean() / 2).backward()
    with torch.no_grad():
        for p in net.parameters():
            p.grad.clamp_(-0.1, 0.1)
            p.grad = p.grad * 0.5
    plain.step()
    plain.zero_grad(set_to_none=update % 2 == 0)
    torch.autograd.backward([net(torch.ones(3)).sum(), tied(torch.ones(3)).sum()], inputs=list(net.parameters()))
print([p.sum().item() for p in (*net.parameters(), *tied.parameters())])
