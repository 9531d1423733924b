"""Histograms of gradients, raw and clipped.

Task: in one training step, write a histogram of every parameter's gradient before clipping, as "raw/NAME", and after it, as
"clipped/NAME", where NAME is the parameter's name. writer is a SummaryWriter of TensorBoard (or looks like one):
writer.add_histogram(tag, values, step).
"""

import torch


def train_step(net, optimizer, loss, most, writer, step):
    optimizer.zero_grad()
    loss.backward()
    ...  # TODO: raw, clip, clipped
    optimizer.step()


if __name__ == "__main__":
    from torch.utils.tensorboard import SummaryWriter

    net = torch.nn.Linear(3, 1)
    with SummaryWriter("runs") as writer:
        loss = net(torch.randn(8, 3)).pow(2).mean()
        train_step(net, torch.optim.SGD(net.parameters(), lr=0.1), loss, 0.5, writer, 0)
