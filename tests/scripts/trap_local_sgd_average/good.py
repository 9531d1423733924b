"""Federated policy gradient (FedAvg) with three workers that see different contexts."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(5)
torch.set_num_threads(1)
W = torch.randn(3, 5)
BIAS = [torch.tensor([1.0, 0, 0, 0, 0]), torch.tensor([0, 1.0, 0, 0, 0]), torch.tensor([0, 0, 0, -1.0, 1.0])]


def make():
    return nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 3))


def reward(x, a):
    return (a == (x @ W.t()).argmax(1)).float()


server = make()
clients = [make() for _ in BIAS]
optimizers = [torch.optim.SGD(c.parameters(), lr=0.3) for c in clients]
curve = []
for round_ in range(30):
    got = 0.0
    for shift, client, opt in zip(BIAS, clients, optimizers):
        client.load_state_dict(server.state_dict())
        for _ in range(4):
            x = torch.randn(64, 5) + shift
            dist = Categorical(logits=client(x))
            a = dist.sample()
            r = reward(x, a)
            loss = -(dist.log_prob(a) * (r - r.mean())).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            got += r.mean().item() / 12
    with torch.no_grad():
        for target, *sources in zip(server.parameters(), *(c.parameters() for c in clients)):
            target.copy_(torch.stack(sources).mean(0))
    curve.append(got)


@torch.no_grad()
def evaluate():
    x = torch.randn(1000, 5)
    return reward(x, server(x).argmax(1)).mean().item()


print("reward %.3f -> %.3f, server greedy %.3f" % (curve[0], curve[-1], evaluate()))
