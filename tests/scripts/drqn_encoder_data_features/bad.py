import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class TMaze:
    LEN = 5

    def reset(self):
        self.cue = random.choice([-1.0, 1.0])
        self.t = 0
        return self._obs()

    def _obs(self):
        return torch.tensor([self.cue if self.t == 0 else 0.0, self.t / self.LEN, float(self.t == self.LEN)])

    def step(self, a):
        if self.t == self.LEN:
            return self._obs(), (1.0 if (a == 1) == (self.cue > 0) else -1.0), True
        self.t += 1
        return self._obs(), 0.0, False


class DRQN(nn.Module):
    def __init__(self, hid=16):
        super().__init__()
        self.hid = hid
        self.enc = nn.Sequential(nn.Linear(3, hid), nn.ReLU())
        self.gru = nn.GRU(hid, hid)
        self.adv = nn.Linear(hid, 2)

    def init_hidden(self, b):
        return torch.zeros(1, b, self.hid)

    def embed(self, x):
        T, B = x.shape[:2]
        return self.enc(x.reshape(T * B, -1)).view(T, B, -1).data  # <- culprit

    def forward(self, x, h):
        y, h = self.gru(self.embed(x), h)
        return self.adv(y), h


def run_episode(env, net, eps):
    obs, done = env.reset(), False
    h = net.init_hidden(1)
    O, A, R = [obs], [], []
    while not done:
        with torch.no_grad():
            q, h = net(obs.view(1, 1, -1), h)
        a = random.randrange(2) if random.random() < eps else int(q.argmax())
        obs, r, done = env.step(a)
        O.append(obs)
        A.append(a)
        R.append(r)
    return torch.stack(O[:-1]), torch.tensor(A), torch.tensor(R)


def td_loss(net, target, episodes, gamma=0.9):
    obs = torch.stack([e[0] for e in episodes], 1)
    act = torch.stack([e[1] for e in episodes], 1)
    rew = torch.stack([e[2] for e in episodes], 1)
    q, _ = net(obs, net.init_hidden(obs.shape[1]))
    q = q.gather(-1, act.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        qt, _ = target(obs, target.init_hidden(obs.shape[1]))
        nxt = torch.cat([qt.max(-1)[0][1:], torch.zeros(1, obs.shape[1])])
    return F.smooth_l1_loss(q, rew + gamma * nxt)


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, net, target = TMaze(), DRQN(), DRQN()
    target.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    memory = []
    for ep in range(70):
        memory.append(run_episode(env, net, max(0.1, 1 - ep / 40)))
        if len(memory) < 20:
            continue
        loss = td_loss(net, target, random.sample(memory, 16))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if ep % 10 == 0:
            target.load_state_dict(net.state_dict())
            print(f"ep {ep} loss {loss.item():.4f} last reward {memory[-1][2][-1]:+.0f}")


main()
