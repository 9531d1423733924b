import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
np.random.seed(4)
torch.manual_seed(4)


class Frog:
    """Hop over lily pads; some sink. Three jumps: short, long, wait."""

    PADS = 10

    def reset(self):
        self.pads = (np.random.rand(self.PADS + 3) > 0.3).astype(np.float32)
        self.pads[0] = self.pads[self.PADS:] = 1
        self.at, self.t = 0, 0
        return self.look()

    def look(self):
        ahead = self.pads[self.at + 1:self.at + 4]
        return np.append(ahead, self.at / self.PADS).astype(np.float32)

    def step(self, a):
        self.at += (1, 2, 0)[a]
        self.t += 1
        if self.at >= self.PADS - 1:
            return np.zeros(4, np.float32), 1.0, True
        if not self.pads[self.at]:
            return self.look(), -1.0, True
        if a == 2:
            nxt = slice(self.at + 1, self.at + 3)
            self.pads[nxt] = np.maximum(self.pads[nxt], np.random.rand(len(self.pads[nxt])) < 0.3)
        return self.look(), 0.1 * (a != 2) - 0.02, self.t >= 30


actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([
    {"params": actor.parameters(), "lr": 3e-3},
    {"params": critic.parameters(), "lr": 6e-3},
])
env = Frog()


def run_episode():
    s, done, out = env.reset(), False, []
    while not done:
        with torch.no_grad():
            p = torch.softmax(actor(torch.from_numpy(s)), dim=0).numpy()
        a = np.random.choice(3, p=p / p.sum())
        s2, r, done = env.step(a)
        out.append((s, a, r, s2, done))
        s = s2
    return out


def learn(rows, gamma=0.95):
    s, a, r, s2, done = zip(*rows)
    s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
    a = torch.tensor(np.array(a)).view(-1, 1)
    r = torch.tensor(r, dtype=torch.float32).view(-1, 1)
    alive = 1 - torch.tensor(done, dtype=torch.float32).view(-1, 1)
    with torch.no_grad():
        target = r + gamma * alive * critic(s2)
    td = target - critic(s)
    critic_loss = td.pow(2).mean()

    advantage = td.detach()
    advantage -= advantage.mean()  # <- culprit
    advantage /= advantage.std() + 1e-6  # <- culprit
    log_prob = torch.log_softmax(actor(s), dim=1).gather(1, a)
    actor_loss = -(log_prob * advantage).mean()

    optimizer.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    optimizer.step()
    return actor_loss.item(), critic_loss.item()


for batch in range(40):
    episodes = [run_episode() for _ in range(8)]
    losses = learn([row for ep in episodes for row in ep])
    if batch % 8 == 0:
        mean = np.mean([sum(row[2] for row in ep) for ep in episodes])
        print("batch %2d  return %+.3f  actor %+.4f  critic %.4f" % (batch, mean, *losses))
