import copy

import torch
from torch import nn
from torch.distributions import Normal

torch.set_num_threads(1)


class Reacher:
    """A point has to be pushed onto a goal that is part of the observation."""

    def __init__(self, n=16, seed=5):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.x = 2 * torch.rand(self.n, 2, generator=self.g) - 1
        self.goal = 2 * torch.rand(self.n, 2, generator=self.g) - 1
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.cat([self.x, self.goal], 1)

    def step(self, a):
        self.x = (self.x + 0.3 * a).clamp(-1.5, 1.5)
        r = -2.0 * (self.x - self.goal).pow(2).sum(1)
        self.t += 1
        out = self.obs()
        if self.t == 15:
            self.reset()
        return out, r


def net(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, o))


class GaussianActor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = net(4, 4)

    def forward(self, obs):
        mu, raw = self.body(obs).chunk(2, dim=-1)
        std = nn.functional.softplus(raw) + 0.05
        u = Normal(mu, std).rsample()
        a = torch.tanh(u)
        logp = Normal(mu, std).log_prob(u) - 2 * (0.6931 - u - nn.functional.softplus(-2 * u))
        return a, logp.sum(-1)


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = net(6, 1), net(6, 1)

    def forward(self, obs, a):
        z = torch.cat([obs, a], -1)
        return self.q1(z).squeeze(-1), self.q2(z).squeeze(-1)


class SAC:
    def __init__(self, gamma=0.9, tau=0.02, alpha=0.1, max_grad=1.0):
        self.actor, self.critic = GaussianActor(), Twin()
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.tau, self.alpha, self.max_grad = gamma, tau, alpha, max_grad

    def update(self, o, a, r, o2):
        with torch.no_grad():
            a2, logp2 = self.actor(o2)
            backup = r + self.gamma * (torch.min(*self.target(o2, a2)) - self.alpha * logp2)
        q1, q2 = self.critic(o, a)
        critic_loss = nn.functional.mse_loss(q1, backup) + nn.functional.mse_loss(q2, backup)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        nn.utils.clip_grad_norm_(self.actor.parameters(), self.max_grad)  # <- culprit
        self.critic_opt.step()

        pi, logp = self.actor(o)
        actor_loss = (self.alpha * logp - torch.min(*self.critic(o, pi))).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        nn.utils.clip_grad_norm_(self.actor.parameters(), self.max_grad)
        self.actor_opt.step()
        with torch.no_grad():
            for t, s in zip(self.target.parameters(), self.critic.parameters()):
                t.lerp_(s, self.tau)
        return critic_loss.item(), actor_loss.item()


def main():
    torch.manual_seed(5)
    env, agent, replay = Reacher(), SAC(), []
    obs = env.obs()
    for step in range(150):
        with torch.no_grad():
            act, _ = agent.actor(obs)
        nxt, rew = env.step(act)
        replay.append((obs, act, rew, nxt))
        obs = env.obs()
        if step >= 10:
            picks = torch.randint(len(replay), (4,)).tolist()
            c, a = agent.update(*(torch.cat([replay[i][k] for i in picks]) for k in range(4)))
            if step % 35 == 0:
                print(f"step {step} reward {rew.mean():.2f} critic {c:.3f} actor {a:+.3f}")


if __name__ == "__main__":
    main()
