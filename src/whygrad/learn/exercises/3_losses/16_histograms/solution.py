import torch


def train_step(net, optimizer, loss, most, writer, step):
    optimizer.zero_grad()
    loss.backward()
    for name, parameter in net.named_parameters():
        writer.add_histogram(f"raw/{name}", parameter.grad, step)
    torch.nn.utils.clip_grad_norm_(net.parameters(), most)
    for name, parameter in net.named_parameters():
        writer.add_histogram(f"clipped/{name}", parameter.grad, step)
    optimizer.step()


if __name__ == "__main__":
    from torch.utils.tensorboard import SummaryWriter

    net = torch.nn.Linear(3, 1)
    with SummaryWriter("runs") as writer:
        loss = net(torch.randn(8, 3)).pow(2).mean()
        train_step(net, torch.optim.SGD(net.parameters(), lr=0.1), loss, 0.5, writer, 0)
