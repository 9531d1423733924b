"""MADDPG for a small rendezvous task (3 agents on a line)."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_AGENTS, OBS, ACT = 3, 4, 1


class Rendezvous:
    def reset(self):
        self.pos = torch.rand(N_AGENTS) * 2 - 1
        self.t = 0
        return self._obs()

    def _obs(self):
        centre = self.pos.mean()
        return torch.stack([torch.tensor([p, centre, p - centre, self.t / 10]) for p in self.pos.tolist()])

    def step(self, acts):
        self.pos = (self.pos + 0.2 * acts.squeeze(-1)).clamp(-2, 2)
        self.t += 1
        reward = -(self.pos - self.pos.mean()).abs()
        return self._obs(), reward, self.t >= 10


def mlp(i, o, last=None):
    layers = [nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o)]
    if last:
        layers.append(last)
    return nn.Sequential(*layers)


class MADDPG:
    def __init__(self, gamma=0.9, tau=0.02):
        self.gamma, self.tau = gamma, tau
        joint = N_AGENTS * (OBS + ACT)
        self.actors = nn.ModuleList(mlp(OBS, ACT, nn.Tanh()) for _ in range(N_AGENTS))
        self.critics = nn.ModuleList(mlp(joint, 1) for _ in range(N_AGENTS))
        self.t_actors, self.t_critics = copy.deepcopy(self.actors), copy.deepcopy(self.critics)
        self.actor_opt = torch.optim.Adam(self.actors.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critics.parameters(), lr=2e-3)
        self.buffer = deque(maxlen=2000)

    @torch.no_grad()
    def act(self, obs, noise=0.3):
        a = torch.stack([actor(o) for actor, o in zip(self.actors, obs)])
        return (a + noise * torch.randn_like(a)).clamp(-1, 1)

    def learn(self, batch_size=32):
        batch = random.sample(self.buffer, batch_size)
        o, a, r, o2, d = (torch.stack(x) for x in zip(*batch))
        with torch.no_grad():
            a2 = torch.stack([self.t_actors[i](o2[:, i]) for i in range(N_AGENTS)], 1)
            joint2 = torch.cat([o2.flatten(1), a2.flatten(1)], 1)
        joint = torch.cat([o.flatten(1), a.flatten(1)], 1)
        critic_loss = 0.0
        for i in range(N_AGENTS):
            with torch.no_grad():
                y = r[:, i : i + 1] + self.gamma * (1 - d[:, None]) * self.t_critics[i](joint2)
            q = self.critics[0](joint)
            critic_loss = critic_loss + F.mse_loss(q, y)
        self.critic_opt.zero_grad()
        critic_loss.backward()  # <- culprit
        self.critic_opt.step()

        actor_loss = 0.0
        for i in range(N_AGENTS):
            acts = [self.actors[j](o[:, j]) if j == i else a[:, j] for j in range(N_AGENTS)]
            actor_loss = actor_loss - self.critics[0](torch.cat([o.flatten(1), *acts], 1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        with torch.no_grad():
            for net, tgt in ((self.actors, self.t_actors), (self.critics, self.t_critics)):
                for p, tp in zip(net.parameters(), tgt.parameters()):
                    tp.lerp_(p, self.tau)
        return critic_loss.item(), actor_loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    random.seed(1)
    env, agent, losses = Rendezvous(), MADDPG(), None
    for episode in range(16):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            act = agent.act(obs)
            nxt, rew, done = env.step(act)
            agent.buffer.append((obs, act, rew, nxt, torch.tensor(float(done))))
            obs, total = nxt, total + rew.sum().item()
            if len(agent.buffer) >= 64 and len(agent.buffer) % 3 == 0:
                losses = agent.learn()
        if episode % 5 == 4:
            print(f"episode {episode} return {total:.2f} losses {losses}")
