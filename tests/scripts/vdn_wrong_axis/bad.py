import copy
import random

import torch
import torch.nn as nn

torch.set_num_threads(1)
AGENTS, ACTIONS, OBS = 4, 3, 5


class UtilityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent_id = nn.Parameter(0.1 * torch.randn(AGENTS, 16))
        self.inp = nn.Linear(OBS, 16)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, ACTIONS))

    def forward(self, obs):
        return self.out(self.inp(obs) + self.agent_id)


class Ferries:
    """Four ferries choose wait, cross or refuel; the team is paid together."""

    def __init__(self, rng):
        self.g = torch.Generator().manual_seed(rng)

    def reset(self):
        self.fuel = torch.ones(AGENTS)
        self.crowd = torch.rand(AGENTS, generator=self.g) * 3
        self.t = 0
        return self.obs()

    def obs(self):
        clock = torch.full((AGENTS, 1), self.t / 10)
        return torch.cat([self.fuel[:, None], self.crowd[:, None], self.crowd.mean().expand(AGENTS, 1), clock, torch.ones(AGENTS, 1)], 1)

    def step(self, acts):
        cross = (acts == 1) & (self.fuel > 0.2)
        pay = (self.crowd * cross).sum() - 0.3 * (acts == 2).sum() - 0.5 * ((acts == 1) & ~cross).sum()
        self.fuel = torch.where(acts == 2, torch.ones(AGENTS), self.fuel - 0.3 * cross)
        self.crowd = torch.where(cross, torch.zeros(AGENTS), self.crowd) + torch.rand(AGENTS, generator=self.g)
        self.t += 1
        return self.obs(), pay / AGENTS, self.t >= 10


def team_value(q, acts):
    chosen = q.gather(1, acts.unsqueeze(-1)).squeeze(-1)  # <- culprit
    return chosen.sum(-1)


def main(episodes=36, gamma=0.9, batch=32):
    random.seed(1)
    torch.manual_seed(1)
    env, net = Ferries(1), UtilityNet()
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    memory, updates, history = [], 0, []
    for ep in range(episodes):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                greedy = net(obs.unsqueeze(0))[0].argmax(-1)
            explore = torch.rand(AGENTS) < max(0.1, 1 - ep / 20)
            acts = torch.where(explore, torch.randint(ACTIONS, (AGENTS,)), greedy)
            nxt, pay, done = env.step(acts)
            memory.append((obs, acts, pay, nxt, torch.tensor(float(done))))
            obs, total = nxt, total + pay.item()
            if len(memory) < batch:
                continue
            o, a, r, o2, d = (torch.stack(c) for c in zip(*random.sample(memory, batch)))
            with torch.no_grad():
                y = r + gamma * (1 - d) * target(o2).max(-1).values.sum(-1)
            loss = nn.functional.mse_loss(team_value(net(o), a), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
            if updates % 30 == 0:
                target.load_state_dict(net.state_dict())
        history.append(total)
        if ep % 7 == 6:
            print(f"episode {ep} pay {sum(history[-7:]) / 7:.2f} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
