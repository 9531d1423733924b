import torch


def train_step(net, optimizer, states, targets):
    loss = torch.nn.functional.mse_loss(net(states), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
