"""Has a module that only looks like TensorFlow, and another that only looks like IPython."""
import IPython
import tensorflow
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
print(tensorflow.answer, IPython.answer, net.weight.sum().item())
