import torch


def norm(net):
    return torch.sqrt(sum((p.grad**2).sum() for p in net.parameters())).item()


def step(net, optimizer, loss, most):
    optimizer.zero_grad()
    loss.backward()
    before = norm(net)
    torch.nn.utils.clip_grad_norm_(net.parameters(), most)
    after = norm(net)
    optimizer.step()
    return before, after
