import torch
import torch.nn as nn
from copy import deepcopy

torch.set_num_threads(1)


class ReplayBuffer:
    def __init__(self, dim, size):
        self.o, self.o2 = torch.zeros(size, dim), torch.zeros(size, dim)
        self.a, self.r, self.d = torch.zeros(size, 1), torch.zeros(size), torch.zeros(size)
        self.ptr = 0

    def store(self, o, a, r, o2, d):
        i = self.ptr
        self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i] = o, a, r, o2, d
        self.ptr += 1

    def sample(self, n):
        i = torch.randint(0, self.ptr, (n,))
        return dict(obs=self.o[i], act=self.a[i], rew=self.r[i], obs2=self.o2[i], done=self.d[i])


class MLPActorCritic(nn.Module):
    def __init__(self, dim=3):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.q_net = nn.Sequential(nn.Linear(dim + 1, 32), nn.ReLU(), nn.Linear(32, 1))

    def q(self, o, a):
        return self.q_net(torch.cat([o, a], -1)).squeeze(-1)


class Tracker:
    """follow a slow sine target"""

    def reset(self):
        self.t, self.x = 0, torch.zeros(())
        return self.obs()

    def obs(self):
        phase = torch.tensor(0.3 * self.t)
        return torch.stack([self.x, phase.sin(), phase.cos()])

    def step(self, a):
        self.x = (self.x + 0.3 * a.squeeze()).clamp(-2, 2)
        self.t += 1
        o = self.obs()
        return o, -(o[0] - o[1]).abs(), self.t >= 25


def ddpg(steps=180, gamma=0.95, polyak=0.98, batch=32):
    torch.manual_seed(2)
    env, buf = Tracker(), ReplayBuffer(3, steps)
    ac = MLPActorCritic()
    ac_targ = deepcopy(ac)
    for p in ac_targ.parameters():
        p.requires_grad = False
    pi_optimizer = torch.optim.Adam(ac.pi.parameters(), lr=1e-3)
    q_optimizer = torch.optim.Adam(ac.q_net.parameters(), lr=1e-3)

    def compute_loss_q(data):
        q = ac.q(data["obs"], data["act"])
        with torch.no_grad():
            q_targ = ac_targ.q(data["obs2"], ac_targ.pi(data["obs2"]))
            backup = data["rew"] + gamma * (1 - data["done"]) * q_targ
        return ((q - backup) ** 2).mean()

    def update(data):
        q_optimizer.zero_grad()
        loss_q = compute_loss_q(data)
        loss_q.backward()
        q_optimizer.step()
        # no need to compute Q gradients during the policy step
        for p in ac.q_net.parameters():
            p.requires_grad = False  # <- culprit
        pi_optimizer.zero_grad()
        loss_pi = -ac.q(data["obs"], ac.pi(data["obs"])).mean()
        loss_pi.backward()
        pi_optimizer.step()
        with torch.no_grad():
            for p, pt in zip(ac.parameters(), ac_targ.parameters()):
                pt.mul_(polyak).add_((1 - polyak) * p)
        return loss_q.item(), loss_pi.item()

    o = env.reset()
    for t in range(steps):
        with torch.no_grad():
            a = (ac.pi(o) + 0.3 * torch.randn(1)).clamp(-1, 1)
        o2, r, d = env.step(a)
        buf.store(o, a, r, o2, float(d))
        o = env.reset() if d else o2
        if t >= 60 and t % 3 == 0:
            lq, lp = update(buf.sample(batch))
            if t % 30 == 0:
                print(t, round(lq, 4), round(lp, 4))


if __name__ == "__main__":
    ddpg()
