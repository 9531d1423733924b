import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=-1)).squeeze(-1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 2), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Plant:
    def __init__(self):
        self.target = torch.randn(4, 2, generator=torch.Generator().manual_seed(3)) * 0.4

    def states(self, n):
        return torch.randn(n, 4)

    def reward(self, s, a):
        return 1.0 - (a - torch.tanh(s @ self.target)).pow(2).sum(-1)


class Dyna:
    def __init__(self):
        self.parts = nn.ModuleDict({"model": RewardModel(), "actor": Actor()})
        self.opt = torch.optim.Adam(self.parts.parameters(), lr=3e-3)
        self.phases = {"model": self.model_loss, "actor": self.actor_loss}

    def collect(self, plant, n=64):
        s = plant.states(n)
        with torch.no_grad():
            a = self.parts["actor"](s)
        a = (a + 0.5 * torch.randn_like(a)).clamp(-1, 1)
        return s, a, plant.reward(s, a)

    def model_loss(self, s, a, r):
        return F.mse_loss(self.parts["model"](s, a), r)

    def actor_loss(self, s, a, r):
        return -self.parts["model"](s, self.parts["actor"](s)).mean()

    def run_phase(self, name, batch):
        for other, part in self.parts.items():
            part.requires_grad_(other == name)
        loss = self.phases[name](*batch)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    plant, dyna, data = Plant(), Dyna(), []
    for it in range(150):
        data.append(dyna.collect(plant))
        batch = [torch.cat(c) for c in zip(*data[-4:])]
        for _ in range(2):
            fit = dyna.run_phase("model", batch)
        dyna.run_phase("actor", batch)
        if it % 30 == 0:
            s = plant.states(300)
            with torch.no_grad():
                real = plant.reward(s, dyna.parts["actor"](s)).mean().item()
            print(f"it {it:3d} model loss {fit:.4f} policy reward {real:.3f}")


if __name__ == "__main__":
    main()
