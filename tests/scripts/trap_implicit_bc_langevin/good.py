import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Energy(nn.Module):
    def __init__(self, n_obs=2, n_act=1, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_obs + n_act, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1, bias=False)
        )

    def forward(self, obs, act):
        obs = obs[:, None].expand(-1, act.shape[1], -1)
        return self.net(torch.cat([obs, act], dim=-1)).squeeze(-1)


def langevin(energy, obs, act, steps=5, step_size=0.1, noise=0.05):
    for _ in range(steps):
        act = act.detach().requires_grad_(True)
        total = energy(obs, act).sum()
        (grad,) = torch.autograd.grad(total, act)
        move = (step_size * grad).clamp(-0.2, 0.2)
        act = (act - move + noise * torch.randn_like(act)).clamp(-1.5, 1.5)
    return act.detach()


def demonstrations(n):
    obs = torch.rand(n, 2) * 2 - 1
    side = torch.where(obs[:, :1] > 0, 0.7, -0.7)
    return obs, side + 0.3 * obs[:, 1:] + 0.02 * torch.randn(n, 1)


class ImplicitPolicy:
    def __init__(self, negatives=24):
        self.energy = Energy()
        self.negatives = negatives
        self.opt = torch.optim.Adam(self.energy.parameters(), lr=2e-3)

    def update(self, obs, act):
        start = torch.rand(len(obs), self.negatives, 1) * 3 - 1.5
        half = self.negatives // 2
        contrast = torch.cat([start[:, :half], langevin(self.energy, obs, start[:, half:])], dim=1)
        everything = torch.cat([act[:, None], contrast], dim=1)
        logits = -self.energy(obs, everything)
        loss = F.cross_entropy(logits, torch.zeros(len(obs), dtype=torch.long))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def act(self, obs, candidates=48):
        start = torch.rand(len(obs), candidates, 1) * 3 - 1.5
        refined = langevin(self.energy, obs, start, noise=0.0)
        with torch.no_grad():
            best = self.energy(obs, refined).argmin(1)
        return refined[torch.arange(len(obs)), best]


def main():
    torch.manual_seed(0)
    policy = ImplicitPolicy()
    for it in range(200):
        loss = policy.update(*demonstrations(64))
        if it % 40 == 0:
            obs, act = demonstrations(100)
            err = (policy.act(obs) - act).abs().mean().item()
            print(f"it {it:3d} loss {loss:.3f} action error {err:.3f}")


if __name__ == "__main__":
    main()
