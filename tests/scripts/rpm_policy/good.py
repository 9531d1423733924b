import torch
import torch.nn as nn

torch.set_num_threads(1)


class Turbine:
    """Speed around 3000 rpm, pressure around 2e5 Pa; the valve moves the speed."""

    def __init__(self, n):
        self.speed = 3000 + 400 * torch.randn(n)
        self.pressure = 2e5 + 1e4 * torch.randn(n)
        self.demand = 3000 + 200 * torch.randn(n)

    def sensors(self):
        return torch.stack([self.speed, self.pressure, self.demand], 1)

    def advance(self, valve):
        push = 150 * valve * (self.pressure / 2e5)
        self.speed = self.speed + push - 0.02 * (self.speed - 3000)
        self.pressure = self.pressure - 500 * valve + 0.05 * (2e5 - self.pressure)

    def cost(self, valve):
        return ((self.speed - self.demand) / 300).pow(2) + 0.01 * valve.pow(2)


class Governor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(3, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.register_buffer("centre", torch.tensor([3000.0, 2e5, 3000.0]))
        self.register_buffer("spread", torch.tensor([400.0, 1e4, 400.0]))

    def forward(self, raw):
        h1 = torch.tanh(self.fc1((raw - self.centre) / self.spread))
        h2 = torch.tanh(self.fc2(h1))
        return 2 * torch.tanh(self.out(h2)).squeeze(-1), h1


def train(updates=200, steps=8):
    torch.manual_seed(69)
    gov = Governor()
    opt = torch.optim.Adam(gov.parameters(), lr=2e-3)
    for it in range(updates):
        plant, total = Turbine(48), 0.0
        for _ in range(steps):
            valve, h1 = gov(plant.sensors())
            plant.advance(valve)
            total = total + plant.cost(valve).mean()
        loss = total / steps
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 40 == 39:
            flat = (1 - h1.detach().pow(2) < 1e-4).float().mean()
            print(f"update {it + 1} cost {loss.item():.4f} saturated {flat:.3f} fc1 grad {gov.fc1.weight.grad.norm():.2e} "
                  f"out grad {gov.out.weight.grad.norm():.2e}")


if __name__ == "__main__":
    train()
