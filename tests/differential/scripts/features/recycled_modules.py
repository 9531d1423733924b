"""Parametrised, lazy, averaged, copied, swapped and reloaded modules, and optimizers that are stored and restored."""
import copy
import io

import torch
from torch.nn.utils import parametrizations, parametrize

torch.manual_seed(0)


class Symmetric(torch.nn.Module):
    calls = 0

    def forward(self, x):
        Symmetric.calls += 1
        return x.triu() + x.triu(1).T


net = torch.nn.Sequential(torch.nn.LazyLinear(3), parametrizations.spectral_norm(torch.nn.Linear(3, 3)),
                          parametrizations.weight_norm(torch.nn.Linear(3, 3)))
net(torch.ones(2, 4))
parametrize.register_parametrization(net[0], "bias", torch.nn.Identity())
square = torch.nn.Linear(3, 3)
parametrize.register_parametrization(square, "weight", Symmetric())
optimizer = torch.optim.Adam([*net.parameters(), *square.parameters()], lr=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=25)
average = torch.optim.swa_utils.AveragedModel(net)
for update in range(20):
    loss = square(net(torch.randn(4, 4))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    average.update_parameters(net)
    if update in (3, 12):
        kept = io.BytesIO()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, kept)
        kept.seek(0)
        loaded = torch.load(kept, weights_only=True)
        net.load_state_dict(loaded["net"])
        optimizer.load_state_dict(loaded["optimizer"])
    if update == 6:
        net = net.double().float()
        copied = copy.deepcopy((square, optimizer.state_dict()))
    if update == 14:
        one, two = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        torch.utils.swap_tensors(one.weight, two.weight)
        print(one.weight.sum().item(), two.weight.sum().item())
print(Symmetric.calls, [round(p.sum().item(), 6) for p in net.parameters()])
print([round(p.sum().item(), 6) for p in average.parameters()], copied[0].weight.sum().item(), schedule.get_last_lr())
