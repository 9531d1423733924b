"""Deletes functions that must not be used any more; they must not come back."""
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(30):
    if update == 2:
        del torch.nn.utils.clip_grad_value_
        torch.autograd.Variable.__new__ = staticmethod(lambda cls, *args, **kwargs: "mine")
        print(torch.autograd.Variable(torch.ones(1)))
    if update == 4:
        del torch.autograd.Variable.__new__
    if update == 8:
        del torch.nn.utils.clip_grads_with_norm_
    loss = net(torch.randn(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    left = [name for name in ("clip_grad_value_", "clip_grads_with_norm_") if hasattr(torch.nn.utils, name)]
    if update in (1, 3, 5, 9, 29):
        print(update, left, "__new__" in vars(torch.autograd.Variable), torch.autograd.Variable(torch.ones(1)))
