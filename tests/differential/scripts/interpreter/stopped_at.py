"""Stops in the debugger in the middle of training, looks at something, and goes on step by step."""
# stdin: p update
# stdin: n
# stdin: n
# stdin: p loss.item()
# stdin: p net.weight.grad
# stdin: b 28
# stdin: c
# stdin: p update
# stdin: q
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(12):
    optimizer.zero_grad()
    if update == 1:
        breakpoint()
    loss = net(torch.ones(4, 3)).pow(2).mean()
    loss.backward()
    if update == 4:
        print("fourth")
    optimizer.step()
