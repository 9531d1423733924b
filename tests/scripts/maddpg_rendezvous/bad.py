import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_AGENTS, OBS, ACT = 3, 4, 2


def mlp(n_in, n_out, out_act=None):
    layers = [nn.Linear(n_in, 48), nn.SiLU(), nn.Linear(48, n_out)]
    return nn.Sequential(*layers, *([out_act] if out_act else []))


class Agent:
    def __init__(self):
        self.actor = mlp(OBS, ACT, nn.Tanh())
        self.critic = mlp(N_AGENTS * (OBS + ACT), 1)
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=4e-3)

    def soft_update(self, tau=0.02):
        pairs = [(self.actor, self.target_actor), (self.critic, self.target_critic)]
        with torch.no_grad():
            for net, target in pairs:
                for p, tp in zip(net.parameters(), target.parameters()):
                    tp.mul_(1 - tau).add_(tau * p)


class Rendezvous:
    """Agents on a plane are paid for being close to a common beacon and to each other."""

    def reset(self):
        self.pos = torch.rand(N_AGENTS, 2) * 2 - 1
        self.beacon = torch.rand(2) - 0.5
        self.t = 0
        return self.observe()

    def observe(self):
        return torch.cat([self.beacon - self.pos, self.pos.mean(0) - self.pos], dim=1)

    def step(self, actions):
        self.pos = (self.pos + 0.5 * actions).clamp(-1.5, 1.5)
        self.t += 1
        gap = (self.pos - self.beacon).norm(dim=1)
        reward = -gap - 0.2 * gap.mean()
        return self.observe(), reward, self.t >= 12


def update_critic(agents, i, obs, act, rew, nxt, gamma=0.7):
    agent = agents[i]
    with torch.no_grad():
        next_act = [ag.target_actor(nxt[:, j]) for j, ag in enumerate(agents)]
        q_next = agent.target_critic(torch.cat([nxt.flatten(1), *next_act], dim=1))
        y = rew[:, i:i + 1] + gamma * q_next
    q = agent.critic(torch.cat([obs.flatten(1), act.flatten(1)], dim=1))
    loss = F.mse_loss(q, y)
    agent.critic_opt.zero_grad()
    loss.backward()
    agent.critic_opt.step()
    return loss.item()


def update_actor(agents, i, obs):
    agent = agents[i]
    joint = [ag.actor(obs[:, j]).data for j, ag in enumerate(agents)]  # <- culprit
    q = agent.critic(torch.cat([obs.flatten(1), *joint], dim=1))
    loss = -q.mean()
    agent.actor_opt.zero_grad()
    loss.backward()
    agent.actor_opt.step()


def main(episodes=80, batch=64):
    random.seed(0)
    torch.manual_seed(0)
    env, agents, memory = Rendezvous(), [Agent() for _ in range(N_AGENTS)], []
    for ep in range(episodes):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                act = torch.stack([ag.actor(obs[j]) for j, ag in enumerate(agents)])
            act = (act + 0.3 * torch.randn_like(act)).clamp(-1, 1) if ep >= 12 else torch.rand(N_AGENTS, ACT) * 2 - 1
            nxt, rew, done = env.step(act)
            memory.append((obs, act, rew, nxt))
            obs, total = nxt, total + rew.mean().item()
        if ep >= 8:
            for _ in range(6):
                o, a, r, o2 = (torch.stack(c) for c in zip(*random.sample(memory, batch)))
                for i in range(N_AGENTS):
                    td = update_critic(agents, i, o, a, r, o2)
                    update_actor(agents, i, o)
                for ag in agents:
                    ag.soft_update()
            if ep % 10 == 0:
                print(f"episode {ep} return {total:.2f} td {td:.4f}")


if __name__ == "__main__":
    main()
