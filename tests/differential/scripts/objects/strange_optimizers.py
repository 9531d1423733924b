"""Optimizers, schedulers and losses that only follow the protocol: duck types, missing constructors, odd groups."""
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)


class Bare(torch.optim.Optimizer):
    """Never calls its base class's constructor."""

    def __init__(self, params):
        self.param_groups = [{"params": list(params)}]
        self.state, self.defaults = {}, {}

    def step(self):
        for p in self.param_groups[0]["params"]:
            p.data.add_(p.grad, alpha=-0.1)


class Duck:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Loss:
    def __init__(self, value):
        self.value = value

    def backward(self):
        self.value.backward()


class Slots(torch.optim.SGD):
    @property
    def param_groups(self):
        return self._groups

    @param_groups.setter
    def param_groups(self, value):
        self._groups = value


bare, duck = Bare(net.parameters()), Duck(torch.optim.SGD(net.parameters(), lr=0.1))
named = torch.optim.SGD([{"params": net.named_parameters(), "label": object()}], lr=0.1)
slots = Slots(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(named, lambda step: 1 / (step + 1))
empty = torch.optim.SGD([torch.nn.Parameter(torch.empty(0)), torch.nn.Parameter(torch.tensor(1.0))], lr=0.1)
for update in range(12):
    for optimizer in (bare, duck, named, slots):
        net.zero_grad()
        Loss(net(torch.randn(4, 3)).pow(2).mean()).backward()
        optimizer.step()
    schedule.step()
    empty.step()
    print(update, net.weight.sum().item(), schedule.get_last_lr())
