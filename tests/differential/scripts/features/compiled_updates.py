"""Compiles whole updates, or their steps, through all the times at which a watch begins and ends; counts the graphs."""
# args: whole
# args: step
# args: nested
# args: closure
# args: forbidden
# args: attention
# left out: stderr, because torch logs the time and the process
import sys

import torch
import torch._dynamo
import torch._dynamo.testing
from torch import nn

how = sys.argv[1]
torch.manual_seed(0)
counter = torch._dynamo.testing.CompileCounter()
if how == "attention":
    body = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 1)
else:
    body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
value = nn.LazyLinear(1)
value(body(torch.zeros(1, 2, 4)))
kind = torch.optim.SGD if how == "closure" else torch.optim.RMSprop
optimizer = kind([*body.parameters(), *value.parameters()], lr=torch.tensor(0.01) if how != "closure" else 0.01)


def goals(x):
    with torch.no_grad():
        return 1.0 + 0.5 * value(body(x))


if how == "nested":
    goals = torch.compile(goals, backend=counter)


def update(x):
    def loss():
        optimizer.zero_grad()
        error = (value(body(x)) - goals(x)).square().mean()
        error.backward()
        return error

    if how == "closure":
        return optimizer.step(loss).detach()
    error = loss()
    optimizer.step()
    return error.detach()


if how == "step":
    optimizer.step = torch.compile(optimizer.step, backend=counter)
else:
    update = torch.compile(update, backend=counter)

for round_ in range(45):
    if round_ == 5 and how in ("forbidden", "step"):
        torch.compiler.set_stance("fail_on_recompile")
    error = update(torch.randn(3, 2, 4))
    if round_ in (0, 4, 19, 20, 21, 44):
        print(round_, error.item().hex(), counter.frame_count, counter.op_count)
print([p.double().sum().item().hex() for p in value.parameters()])
print(sorted(torch._dynamo.utils.counters["stats"].items()), torch._C._len_torch_function_stack() <= 1)
