import copy

import torch
from torch import nn

torch.set_num_threads(1)


class Docking:
    def __init__(self, n=16, seed=4):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.pos = torch.rand(n, 2, generator=self.g) * 2 - 1
        self.wind = torch.zeros(n, 2)

    def obs(self):
        return torch.cat([self.pos, self.wind], 1)

    def step(self, a):
        self.wind = 0.9 * self.wind + 0.05 * torch.randn(self.n, 2, generator=self.g)
        self.pos = (self.pos + 0.2 * a + 0.1 * self.wind).clamp(-1.5, 1.5)
        return self.obs(), -self.pos.pow(2).sum(1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(34, 32), nn.Tanh(), nn.Linear(32, 1)) for _ in range(2))

    def forward(self, obs, act):
        z = torch.cat([self.encoder(obs), act], 1)
        return tuple(h(z).squeeze(1) for h in self.heads)


class TD3:
    def __init__(self, gamma=0.8, tau=0.05, delay=2):
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())
        self.critic = Critic()
        self.actor_t, self.critic_t = (copy.deepcopy(m).requires_grad_(False) for m in (self.actor, self.critic))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam([
            {"params": self.critic.encoder.parameters(), "lr": 1e-3},
            {"params": self.critic.heads.parameters(), "lr": 2e-3},
        ])
        self.gamma, self.tau, self.delay, self.it = gamma, tau, delay, 0

    def update(self, o, a, r, o2):
        self.it += 1
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(a)).clamp(-0.4, 0.4)
            a2 = (self.actor_t(o2) + noise).clamp(-1, 1)
            y = r + self.gamma * torch.minimum(*self.critic_t(o2, a2))
        q1, q2 = self.critic(o, a)
        loss = (q1 - y).pow(2).mean() + (q2 - y).pow(2).mean()
        self.critic_opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.critic_opt.param_groups[0]["params"], 1.0)
        self.critic_opt.step()
        if self.it % self.delay == 0:
            actor_loss = -self.critic(o, self.actor(o))[0].mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            with torch.no_grad():
                for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                    for p, q in zip(net.parameters(), tgt.parameters()):
                        q.lerp_(p, self.tau)
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(4)
    env, agent, replay = Docking(), TD3(), []
    obs = env.obs()
    for t in range(180):
        with torch.no_grad():
            act = (agent.actor(obs) + 0.2 * torch.randn(env.n, 2)).clamp(-1, 1)
        nxt, rew = env.step(act)
        replay.append((obs, act, rew, nxt))
        obs = nxt
        if t >= 8:
            rows = [replay[i] for i in torch.randint(len(replay), (4,)).tolist()]
            loss = agent.update(*(torch.cat(c) for c in zip(*rows)))
            if t % 40 == 0:
                print(f"t {t} reward {rew.mean():.3f} critic loss {loss:.4f}")
