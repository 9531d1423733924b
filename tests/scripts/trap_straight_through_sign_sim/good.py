import torch
import torch.nn as nn

torch.set_num_threads(1)


def hard_sign(x):
    soft = torch.tanh(x)
    return (torch.sign(x) - soft).detach() + soft


def quantise(x, step=0.25):
    return x + (torch.round(x / step) * step - x).detach()


class Pilot(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, s):
        direction, power = self.f(s).unbind(-1)
        return hard_sign(direction) * quantise(torch.sigmoid(power))


def simulate(pilot, n=24, steps=10):
    x, v = torch.randn(n), torch.zeros(n)
    cost = 0.0
    for _ in range(steps):
        u = pilot(torch.stack([x, v], -1))
        v = 0.9 * v + 0.3 * u
        x = x + 0.3 * v
        cost = cost + x.square().mean() + 0.01 * u.square().mean()
    return cost / steps, x


if __name__ == "__main__":
    torch.manual_seed(0)
    pilot = Pilot()
    opt = torch.optim.Adam(pilot.parameters(), lr=3e-3)
    best = float("inf")
    for i in range(30):
        cost, final = simulate(pilot)
        opt.zero_grad()
        cost.backward()
        opt.step()
        best = min(best, cost.item())
        inside = (final.abs() < 0.3).float().mean()
        if i % 10 == 0:
            print(f"{i} cost {cost.item():.4f} best {best:.4f} inside {inside.item():.2f} final {torch.round(final[:3]).tolist()}")
