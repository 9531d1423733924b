"""Runs with every warning an error, from the command line."""
# flags: -W error
import torch

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
caught = 0
for update in range(12):
    out = net(torch.randn(4, 3))
    try:
        torch.nn.functional.softmax(out)
    except UserWarning:
        caught += 1
    try:
        torch.ones(1).std()
    except UserWarning as warning:
        caught += 1
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()
print("caught", caught)
torch.tensor(out)
print("not reached")
