"""Hands generators and one-time iterators to torch, and looks at what is left of them."""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
log = []


def each(name, things):
    for number, thing in enumerate(things):
        log.append((name, number))
        yield thing


optimizer = torch.optim.SGD(each("group", net.parameters()), lr=0.1)
for update in range(10):
    parameters = each("clip", net.parameters())
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    torch.autograd.backward((loss,), inputs=list(each("inputs", net.parameters())))
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    log.append(("left", len(list(parameters))))
    torch.stack(list(each("stack", [torch.ones(1), torch.ones(1)])))
    optimizer.step()
    for name, work in {"value": lambda: torch.nn.utils.clip_grad_value_(parameters, 1.0),
                       "cat": lambda: torch.cat(each("cat", [loss.detach()[None]])),
                       "backward": lambda: torch.autograd.backward(each("roots", [loss])),
                       "grad": lambda: torch.autograd.grad(each("outputs", [loss]), net[0].weight),
                       "tensor": lambda: torch.tensor(each("tensor", [1.0]))}.items():
        try:
            work()
        except Exception as error:
            log.append((name, type(error).__name__, str(error)[:60]))
for entry in log:
    print(*entry)
