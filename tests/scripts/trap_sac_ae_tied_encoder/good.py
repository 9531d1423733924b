"""Pixel SAC with an autoencoder (SAC-AE). The actor's encoder shares its convolutions with the critic's,
so the actor's optimizer lists them too, but the actor only ever sees detached features."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
SIZE, FEAT, ACT = 12, 16, 2


class DotWorld:
    """A bright blob on a 12x12 picture; push it to the centre."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n = n
        self.p = 8 * torch.rand(n, 2, generator=self.g) + 2
        self.axis = torch.arange(SIZE).float()

    def pixels(self):
        dy = (self.axis[None, :, None] - self.p[:, 0, None, None]) ** 2
        dx = (self.axis[None, None, :] - self.p[:, 1, None, None]) ** 2
        return torch.exp(-(dy + dx) / 3.0)[:, None]

    def step(self, a):
        self.p = (self.p + 1.5 * a).clamp(0, SIZE - 1)
        reward = -((self.p - 5.5) / 5.5).pow(2).sum(1)
        lost = torch.rand(self.n, generator=self.g) < 0.05
        self.p = torch.where(lost[:, None], 8 * torch.rand(self.n, 2, generator=self.g) + 2, self.p)
        return self.pixels(), reward


class PixelEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, padding=1)])
        self.fc, self.ln = nn.Linear(8 * 36, FEAT), nn.LayerNorm(FEAT)

    def forward(self, x, detach=False):
        for conv in self.convs:
            x = torch.relu(conv(x))
        x = x.flatten(1)
        if detach:
            x = x.detach()
        return self.ln(self.fc(x))

    def copy_conv_weights_from(self, source):
        for mine, theirs in zip(self.convs, source.convs):
            mine.weight, mine.bias = theirs.weight, theirs.bias


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PixelEncoder()
        self.trunk = nn.Sequential(nn.Linear(FEAT, 32), nn.Tanh(), nn.Linear(32, 2 * ACT))

    def forward(self, x, detach_encoder=False):
        mu, log_std = self.trunk(self.encoder(x, detach=detach_encoder)).chunk(2, -1)
        log_std = -3 + 2 * (torch.tanh(log_std) + 1)
        noise = torch.randn_like(mu)
        u = mu + noise * log_std.exp()
        logp = (-0.5 * noise ** 2 - log_std - 2 * (0.6931 - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PixelEncoder()
        self.q1 = nn.Sequential(nn.Linear(FEAT + ACT, 32), nn.Tanh(), nn.Linear(32, 1))
        self.q2 = nn.Sequential(nn.Linear(FEAT + ACT, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x, a, detach_encoder=False):
        h = torch.cat([self.encoder(x, detach=detach_encoder), a], 1)
        return self.q1(h).squeeze(1), self.q2(h).squeeze(1)


class SacAeAgent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.critic_target = copy.deepcopy(self.critic)
        self.actor.encoder.copy_conv_weights_from(self.critic.encoder)
        self.decoder = nn.Sequential(nn.Linear(FEAT, 48), nn.Tanh(), nn.Linear(48, SIZE * SIZE))
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam([*self.critic.parameters(), *self.decoder.parameters()], lr=2e-3)

    def update_critic(self, s, a, r, s2):
        with torch.no_grad():
            a2, logp2 = self.actor(s2)
            y = r + 0.8 * (torch.min(*self.critic_target(s2, a2)) - 0.1 * logp2)
        q1, q2 = self.critic(s, a)
        recon = F.mse_loss(self.decoder(self.critic.encoder(s)), s.flatten(1))
        loss = F.mse_loss(q1, y) + F.mse_loss(q2, y) + recon
        self.critic_optimizer.zero_grad()
        loss.backward()
        self.critic_optimizer.step()
        return loss.item(), recon.item()

    def update_actor(self, s):
        a, logp = self.actor(s, detach_encoder=True)
        loss = (0.1 * logp - torch.min(*self.critic(s, a, detach_encoder=True))).mean()
        self.actor_optimizer.zero_grad()
        loss.backward()
        self.actor_optimizer.step()
        return loss.item()

    def soft_update(self):
        for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
            tp.data.lerp_(p.data, 0.05)


def main():
    torch.manual_seed(0)
    env, agent, memory = DotWorld(8), SacAeAgent(), []
    s = env.pixels()
    for t in range(45):
        with torch.no_grad():
            a, _ = agent.actor(s)
        s2, r = env.step(a)
        memory.append((s, a, r, s2))
        s = s2
        if t >= 6:
            pick = torch.randint(0, len(memory), (4,)).tolist()
            batch = [torch.cat([memory[i][k] for i in pick]) for k in range(4)]
            c, rec = agent.update_critic(*batch)
            p = agent.update_actor(batch[0])
            agent.soft_update()
            if t % 8 == 0:
                print(f"t {t} critic {c:.3f} recon {rec:.4f} actor {p:.3f}")


if __name__ == "__main__":
    main()
