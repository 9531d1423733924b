import copy
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class InvertingLimiter(torch.autograd.Function):
    """Bounds actions to [lo, hi]; gradients that push outwards should be scaled down."""

    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.lo, ctx.hi = lo, hi
        ctx.save_for_backward(x)
        return x.clamp(lo, hi)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        room = torch.where(g < 0, ctx.hi - x, x - ctx.lo) / (ctx.hi - ctx.lo)
        scaled = g * room.clamp(0, 1)
        return scaled, None, None


class HeaterActor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, s):
        raw = 0.5 + self.out(torch.relu(self.hidden(s)))
        return InvertingLimiter.apply(raw, 0.0, 1.0)


class Room:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.temp = self.rng.uniform(-1, 1)
        self.outside = self.rng.uniform(-1, 0)
        return np.array([self.temp, self.outside], np.float32)

    def step(self, power):
        self.temp += 0.2 * (self.outside - self.temp) + 0.5 * power
        cost = (self.temp - 0.5) ** 2 + 0.05 * power
        return np.array([self.temp, self.outside], np.float32), -cost


def update(actor, critic, t_actor, t_critic, a_opt, c_opt, batch, gamma=0.9):
    s, a, r, s2 = batch
    with torch.no_grad():
        y = r + gamma * t_critic(torch.cat([s2, t_actor(s2)], 1))
    c_loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y)
    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    a_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
    for net, tgt in ((actor, t_actor), (critic, t_critic)):
        for p, q in zip(net.parameters(), tgt.parameters()):
            q.data.mul_(0.98).add_(0.02 * p.data)
    return c_loss.item(), a_loss.item()


def main():
    torch.manual_seed(3)
    room, rng = Room(3), np.random.default_rng(1)
    actor = HeaterActor()
    critic = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    t_actor, t_critic = copy.deepcopy(actor), copy.deepcopy(critic)
    a_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
    c_opt = torch.optim.Adam(critic.parameters(), lr=4e-3)
    data, s = [], room.reset()
    for step in range(160):
        with torch.no_grad():
            a = actor(torch.from_numpy(s)[None]).item() + rng.normal(0, 0.2)
        a = float(np.clip(a, 0, 1))
        s2, r = room.step(a)
        data.append((s, [a], [r], s2))
        s = room.reset() if step % 15 == 14 else s2
        if step >= 48 and step % 3 == 0:
            pick = rng.integers(len(data), size=32)
            batch = [torch.tensor(np.array([data[i][k] for i in pick]), dtype=torch.float32) for k in range(4)]
            losses = update(actor, critic, t_actor, t_critic, a_opt, c_opt, batch)
            if step % 30 == 0:
                print(step, "critic %.4f actor %.4f" % losses)


if __name__ == "__main__":
    main()
