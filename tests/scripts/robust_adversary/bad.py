import math

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, limit, hidden=32):
        super().__init__()
        self.limit = limit
        self.f = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x, t):
        phase = torch.full_like(x[:, :1], math.sin(0.6 * t))
        return self.limit * torch.tanh(self.f(torch.cat([x, phase], -1)))


def cart(x, push, wind):
    pos, vel = x[:, :1], x[:, 1:]
    vel = 0.95 * vel + 0.3 * (push + wind) - 0.05 * torch.sin(pos)
    pos = pos + 0.3 * vel
    return torch.cat([pos, vel], -1)


def episode_cost(controller, adversary, batch=32, horizon=12):
    x = torch.randn(batch, 2)
    cost = torch.zeros(batch)
    for t in range(horizon):
        push, wind = controller(x, t), adversary(x, t)
        x = cart(x, push, wind)
        cost = cost + x[:, 0].square() + 0.1 * x[:, 1].square() + 0.01 * push.squeeze(-1).square()
    return cost.mean() / horizon


def train(iters=120):
    torch.manual_seed(6)
    nets = nn.ModuleDict({"controller": Net(1.0), "adversary": Net(0.3)})
    opts = {
        "controller": torch.optim.Adam(nets["controller"].parameters(), lr=3e-3),
        "adversary": torch.optim.SGD(nets["adversary"].parameters(), lr=5e-2),
    }
    history = []
    for it in range(iters):
        for opt in opts.values():
            opt.zero_grad(set_to_none=True)

        loss_controller = episode_cost(nets["controller"], nets["adversary"])
        loss_controller.backward()  # <- culprit
        opts["controller"].step()

        loss_adversary = -episode_cost(nets["controller"], nets["adversary"])
        loss_adversary.backward()
        opts["adversary"].step()

        history.append(loss_controller.item())
        if it % 30 == 0:
            with torch.no_grad():
                calm = episode_cost(nets["controller"], lambda x, t: torch.zeros_like(x[:, :1]))
            print(f"iter {it} cost with wind {history[-1]:.4f} without {calm.item():.4f}")
    return history


if __name__ == "__main__":
    h = train()
    print("mean cost of the last 20 iterations", round(sum(h[-20:]) / 20, 4))
