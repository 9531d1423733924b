import copy
import warnings

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

warnings.filterwarnings("ignore", category=UserWarning)
torch.set_num_threads(1)


class Rooms:
    """Two coupled rooms, continuous heating power, comfort against energy."""

    def __init__(self, n=24, seed=17):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.temp = torch.rand(n, 2, generator=self.g) * 2 - 1

    def obs(self):
        return self.temp.clone()

    def step(self, power):
        mix = 0.1 * (self.temp.flip(1) - self.temp)
        noise = 0.05 * torch.randn(self.n, 2, generator=self.g)
        self.temp = (0.9 * self.temp + mix + 0.2 * power - 0.05 + noise).clamp(-1.5, 1.5)
        return self.obs(), -(self.temp - 0.5).pow(2).sum(1) - 0.05 * power.pow(2).sum(1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())

    def forward(self, obs):
        return self.net(obs)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], 1)).squeeze(1)


class DDPG:
    def __init__(self, gamma=0.7, tau=0.05):
        self.gamma, self.tau = gamma, tau
        self.actor, self.critic = Actor(), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        for net in (self.actor_t, self.critic_t):
            net.requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)  # <- culprit
        self.actor_sched = ExponentialLR(self.actor_opt, gamma=0.999)
        self.critic_sched = ExponentialLR(self.critic_opt, gamma=0.999)

    def update(self, o, a, r, o2):
        with torch.no_grad():
            y = r + self.gamma * self.critic_t(o2, self.actor_t(o2))
        critic_loss = nn.functional.mse_loss(self.critic(o, a), y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_sched.step()

        actor_loss = -self.critic(o, self.actor(o)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        self.actor_sched.step()

        with torch.no_grad():
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, q in zip(net.parameters(), tgt.parameters()):
                    q.mul_(1 - self.tau).add_(self.tau * p)
        return critic_loss.item(), actor_loss.item()


def main():
    torch.manual_seed(17)
    env, agent, replay = Rooms(), DDPG(), []
    obs = env.obs()
    for step in range(200):
        with torch.no_grad():
            act = (agent.actor(obs) + 0.2 * torch.randn(env.n, 2)).clamp(-1, 1)
        nxt, rew = env.step(act)
        replay.append((obs, act, rew, nxt))
        obs = nxt
        if step >= 10:
            picks = torch.randint(len(replay), (3,)).tolist()
            c, a = agent.update(*(torch.cat([replay[i][k] for i in picks]) for k in range(4)))
            if step % 45 == 0:
                print(f"step {step} reward {rew.mean():.3f} critic {c:.4f} actor {a:+.3f}")


if __name__ == "__main__":
    main()
