import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_AGENTS, N_ACT, OBS = 3, 4, 6


class LeverGame:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.goal = self.rng.randint(0, N_ACT, N_AGENTS)
        self.t = 0
        return self._obs()

    def _obs(self):
        o = np.zeros((N_AGENTS, OBS), dtype=np.float32)
        o[np.arange(N_AGENTS), self.goal] = 1
        o[:, 4] = self.t / 5
        o[:, 5] = self.rng.randn(N_AGENTS) * 0.1
        return o

    def step(self, acts):
        r = float((np.asarray(acts) == self.goal).mean())
        self.t += 1
        self.goal = (self.goal + 1) % N_ACT
        return self._obs(), r, self.t == 5


class AgentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(OBS, 24)
        self.q = nn.Linear(24, N_ACT)

    def forward(self, o):
        return self.q(F.relu(self.fc(o)))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(N_AGENTS * OBS, N_AGENTS)
        self.b = nn.Linear(N_AGENTS * OBS, 1)

    def forward(self, qs, state):
        return (qs * self.w(state).abs()).sum(1) + self.b(state).squeeze(1)


class Learner:
    def __init__(self):
        self.agents = nn.ModuleList(AgentNet() for _ in range(N_AGENTS))
        self.mixer = Mixer()
        self.t_agents = copy.deepcopy(self.agents)
        self.t_mixer = copy.deepcopy(self.mixer)
        self.optimiser = torch.optim.RMSprop([*self.agents.parameters(), *self.mixer.parameters()], lr=1e-3)
        self.updates = 0

    def train(self, batch):
        o, a, r, o2, d = (torch.as_tensor(np.stack(x)) for x in zip(*batch))
        chosen, best = [], []
        for i in range(N_AGENTS):
            q = self.agents[i](o[:, i])
            chosen.append(torch.tensor(q.gather(1, a[:, i : i + 1]).squeeze(1)))  # <- culprit
            with torch.no_grad():
                best.append(self.t_agents[i](o2[:, i]).max(1)[0])
        q_tot = self.mixer(torch.stack(chosen, 1), o.flatten(1))
        with torch.no_grad():
            y = r.float() + 0.9 * (1 - d.float()) * self.t_mixer(torch.stack(best, 1), o2.flatten(1))
        loss = F.mse_loss(q_tot, y)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.updates += 1
        if self.updates % 10 == 0:
            self.t_agents.load_state_dict(self.agents.state_dict())
            self.t_mixer.load_state_dict(self.mixer.state_dict())
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, learner, mem = LeverGame(0), Learner(), deque(maxlen=500)
    for ep in range(40):
        obs, done, score = env.reset(), False, 0
        while not done:
            with torch.no_grad():
                acts = [
                    random.randrange(N_ACT) if random.random() < 0.3 else int(net(torch.from_numpy(obs[i])).argmax())
                    for i, net in enumerate(learner.agents)
                ]
            nxt, r, done = env.step(acts)
            mem.append((obs, np.array(acts), np.array(r), nxt, np.array(done)))
            obs, score = nxt, score + r
        if len(mem) >= 32:
            loss = learner.train(random.sample(mem, 32))
            if ep % 10 == 0:
                print("episode", ep, "score", round(score, 2), "loss", round(loss, 4))


main()
