import copy

import torch
from torch import nn

torch.set_num_threads(1)
SCALE = 1024.0


class Queue:
    """Choose the service rate of a queue; faster service costs more."""

    def __init__(self, n=16, seed=13):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.len, self.load = torch.zeros(n), torch.rand(n, generator=self.g)

    def obs(self):
        return torch.stack([self.len / 5 - 1, 2 * self.load - 1], 1)

    def step(self, a):
        arrivals = torch.poisson(1 + 2 * self.load, generator=self.g)
        self.len = (self.len + arrivals - 1.5 * a).clamp(0, 10)
        self.load = (self.load + 0.1 * torch.randn(self.n, generator=self.g)).clamp(0, 1)
        return self.obs(), -0.1 * self.len - 0.15 * a


class Agent:
    def __init__(self, gamma=0.8):
        self.q = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 4))
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.gamma, self.updates = gamma, 0

    def values(self, net, obs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return net(obs).float()

    @torch.no_grad()
    def act(self, obs, eps=0.2):
        greedy = self.values(self.q, obs).argmax(1)
        explore = torch.rand(len(obs)) < eps
        return torch.where(explore, torch.randint(0, 4, (len(obs),)), greedy)

    def update(self, o, a, r, o2):
        with torch.no_grad():
            y = r + self.gamma * self.values(self.target, o2).amax(1)
        q = self.values(self.q, o).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        (loss * SCALE).backward()
        for p in self.q.parameters():
            p.grad.div_(SCALE)
        nn.utils.clip_grad_norm_(self.q.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad()
        self.updates += 1
        if self.updates % 25 == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def main():
    torch.manual_seed(13)
    env, agent, replay = Queue(), Agent(), []
    obs = env.obs()
    for t in range(160):
        a = agent.act(obs)
        nxt, r = env.step(a.float())
        replay.append((obs, a, r, nxt))
        obs = nxt
        if t >= 10:
            rows = [replay[i] for i in torch.randint(len(replay), (4,)).tolist()]
            loss = agent.update(*(torch.cat(c) for c in zip(*rows)))
            if t % 35 == 0:
                print(f"t {t} reward {r.mean():.3f} loss {loss:.4f}")


if __name__ == "__main__":
    main()
