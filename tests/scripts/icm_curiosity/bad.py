import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
SIZE, N_ACT = 5, 4
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class GridRooms:
    def __init__(self, n):
        self.n = n
        self.pos = torch.randint(0, SIZE, (n, 2))

    def obs(self):
        return torch.cat([F.one_hot(self.pos[:, 0], SIZE), F.one_hot(self.pos[:, 1], SIZE)], 1).float()

    def step(self, a):
        self.pos = (self.pos + MOVES[a]).clamp(0, SIZE - 1)
        goal = (self.pos == SIZE - 1).all(1)
        nxt = self.obs()
        self.pos[goal] = torch.randint(0, SIZE, (int(goal.sum()), 2))
        return nxt, goal.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2 * SIZE, 48), nn.Tanh())
        self.pi, self.v = nn.Linear(48, N_ACT), nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class ICM(nn.Module):
    def __init__(self, feat=16):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2 * SIZE, 32), nn.Tanh(), nn.Linear(32, feat))
        self.forward_head = nn.Sequential(nn.Linear(feat + N_ACT, 32), nn.Tanh(), nn.Linear(32, feat))
        self.inverse_head = nn.Sequential(nn.Linear(2 * feat, 32), nn.Tanh(), nn.Linear(32, N_ACT))

    def forward(self, s, a, s2):
        f, f2 = self.phi(s), self.phi(s2)
        pred = self.forward_head(torch.cat([f, F.one_hot(a, N_ACT).float()], 1))
        error = (pred - f2).pow(2).mean(1)
        logits = self.inverse_head(torch.cat([f, f2], 1))
        return error, F.cross_entropy(logits, a)


def compute_losses(ac, icm, s, a, s2, r, beta=0.2, gamma=0.9):
    losses, stats = {}, {}
    error, inverse = icm(s, a, s2)
    bonus = error.detach().clamp(max=0.5)
    dist, value = ac(s)
    with torch.no_grad():
        target = r + 0.05 * bonus + gamma * ac(s2)[1] * (1 - r)
    adv = target - value.detach()
    losses["loss_policy"] = -(dist.log_prob(a) * adv).mean()
    losses["loss_value"] = 0.5 * (target - value).pow(2).mean()
    losses["loss_entropy"] = -0.01 * dist.entropy().mean()
    losses["loss_forward"] = beta * error.mean()
    losses["inverse_loss"] = (1 - beta) * inverse
    stats["bonus"] = bonus.mean().item()
    return losses, stats


def main(updates=300):
    torch.manual_seed(8)
    env, ac, icm = GridRooms(64), ActorCritic(), ICM()
    opt = torch.optim.Adam([*ac.parameters(), *icm.parameters()], lr=3e-3)
    rate = 0.0
    for u in range(updates):
        s = env.obs()
        with torch.no_grad():
            a = ac(s)[0].sample()
        s2, r = env.step(a)
        losses, stats = compute_losses(ac, icm, s, a, s2, r)
        total = sum(v for k, v in losses.items() if k.startswith("loss"))
        opt.zero_grad()
        total.backward()  # <- culprit
        opt.step()
        rate = 0.95 * rate + 0.05 * r.mean().item()
        if u % 60 == 0:
            print(f"update {u:3d} goal rate {rate:.3f} bonus {stats['bonus']:.4f}")


if __name__ == "__main__":
    main()
