"""Objects that raise, with an exception of any kind, whenever somebody looks at them."""
# args: Exception
# args: BaseException
# args: SystemExit
import builtins
import sys

import torch

kind = getattr(builtins, sys.argv[1])


class Private:
    def _refuse(self, *_):
        raise kind("do not look at me")

    __repr__ = __str__ = __eq__ = __len__ = __bool__ = __iter__ = __hash__ = __getitem__ = __getattr__ = _refuse
    __float__ = __int__ = __array__ = __dir__ = __format__ = _refuse
    __class__ = property(_refuse)
    __dict__ = property(_refuse)


class Shy(type):
    def __getattribute__(cls, name):
        raise kind("nor at my class")


class Hidden(metaclass=Shy):
    pass


class Book(dict):
    def items(self):
        raise kind("not my items")

    values = keys = __iter__ = __len__ = items


hidden = type.__call__(Hidden)
private, book, row = Private(), Book(a=1), [Private(), {"x": Private()}, (Private(),)]
nested = {"deep": {"deeper": [Private()]}}


def train(argument, entropy):
    advantages = private
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    net.book = book
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for update in range(25):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


net = train(private, hidden)
print([p.sum().item() for p in net.parameters()])
