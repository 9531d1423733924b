import torch
import torch.nn as nn

torch.set_num_threads(1)

DT, STEPS = 0.1, 12


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 32)
        self.mid = nn.Linear(32, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, state):
        h = torch.tanh(self.inp(state))
        h = torch.tanh(self.mid(h))
        return self.out(h).squeeze(-1)


class Lander:
    """Differentiable vertical lander: altitude, speed, fuel."""

    def __init__(self, n):
        self.alt = 1.0 + torch.rand(n)
        self.vel = -0.5 * torch.rand(n)
        self.fuel = torch.ones(n)

    def state(self):
        return torch.stack([self.alt, self.vel, self.fuel], -1)

    def step(self, thrust):
        self.vel = self.vel + DT * (2.0 * thrust - 0.5)
        self.alt = self.alt + DT * self.vel
        self.fuel = self.fuel - 0.02 * thrust.abs()

    def landing_cost(self):
        return self.alt.pow(2) + 0.5 * self.vel.pow(2) - 0.1 * self.fuel


def thruster(command):
    """The valve is either fully up or fully down."""
    return torch.sign(command)  # <- culprit


def rollout(ctrl, n=24):
    sim = Lander(n)
    rough, prev = 0.0, None
    for _ in range(STEPS):
        cmd = ctrl(sim.state())
        if prev is not None:
            rough = rough + (cmd - prev).pow(2).mean()
        prev = cmd
        sim.step(thruster(cmd))
    return sim.landing_cost().mean(), rough / STEPS


def train(iters=25, lr=2e-3, smooth=0.05):
    torch.manual_seed(0)
    ctrl = Controller()
    optim = torch.optim.Adam(ctrl.parameters(), lr=lr)
    for i in range(iters):
        cost, rough = rollout(ctrl)
        loss = cost + smooth * rough
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ctrl.parameters(), 1.0)
        optim.step()
        if i % 6 == 0:
            print(f"iter {i:2d}  landing cost {cost.item():.4f}  roughness {rough.item():.5f}")


if __name__ == "__main__":
    train()
