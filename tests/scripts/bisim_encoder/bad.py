import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class NoisyMaze:
    """Four rooms; the observation mixes the room with distracting noise channels."""

    NEXT = torch.tensor([[1, 2], [3, 0], [0, 3], [1, 2]])

    def __init__(self, gen):
        self.gen, self.room = gen, 0

    def observe(self):
        room = F.one_hot(torch.tensor(self.room), 4).float()
        return torch.cat([room + 0.1 * torch.randn(4, generator=self.gen), torch.randn(6, generator=self.gen)])

    def reset(self):
        self.room = int(torch.randint(0, 3, (1,), generator=self.gen))
        return self.observe()

    def step(self, a):
        self.room = int(self.NEXT[self.room, a])
        return self.observe(), 1.0 if self.room == 3 else 0.0


class Encoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, o):
        return self.net(o)


def latent_distance(za, zb):
    return ((za - zb) ** 2).sum(-1).sqrt()  # <- culprit


class Agent:
    def __init__(self, gamma=0.8, weight=0.3):
        self.enc, self.enc_t = Encoder(), Encoder()
        self.q, self.q_t = nn.Linear(8, 2), nn.Linear(8, 2)
        self.sync(1.0)
        self.opt = torch.optim.Adam([*self.enc.parameters(), *self.q.parameters()], lr=2e-3)
        self.gamma, self.weight = gamma, weight

    @torch.no_grad()
    def sync(self, tau):
        for a, b in ((self.enc, self.enc_t), (self.q, self.q_t)):
            for p, pt in zip(a.parameters(), b.parameters()):
                pt.copy_(tau * p + (1 - tau) * pt)

    def update(self, o, a, r, o2):
        z = self.enc(o)
        with torch.no_grad():
            z2 = self.enc_t(o2)
            y = r + self.gamma * self.q_t(z2).max(-1).values
        td = F.mse_loss(self.q(z)[torch.arange(len(a)), a], y)
        perm = torch.randperm(len(a))
        with torch.no_grad():
            goal = (r - r[perm]).abs() + self.gamma * torch.linalg.vector_norm(z2 - z2[perm], dim=-1)
        bisim = F.smooth_l1_loss(latent_distance(z, z[perm]), goal)
        loss = td + self.weight * bisim
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sync(0.05)
        return td.item(), bisim.item()


def main():
    torch.manual_seed(33)
    gen = torch.Generator().manual_seed(33)
    env, agent, rows, rewards = NoisyMaze(gen), Agent(), [], []
    o = env.reset()
    for t in range(1, 1001):
        if torch.rand(1, generator=gen).item() < max(0.1, 1 - t / 400):
            a = int(torch.randint(0, 2, (1,), generator=gen))
        else:
            with torch.no_grad():
                a = int(agent.q(agent.enc(o)).argmax())
        o2, r = env.step(a)
        rows.append((o, torch.tensor(a), torch.tensor(r), o2))
        rewards.append(r)
        o = env.reset() if t % 25 == 0 else o2
        if t >= 80 and t % 4 == 0:
            idx = torch.randint(0, len(rows), (32,), generator=gen).tolist()
            td, bisim = agent.update(*(torch.stack(c) for c in zip(*(rows[i] for i in idx))))
        if t % 200 == 0:
            print(f"t {t} td {td:.4f} bisim {bisim:.4f} reward {sum(rewards[-100:]) / 100:.3f}")


if __name__ == "__main__":
    main()
