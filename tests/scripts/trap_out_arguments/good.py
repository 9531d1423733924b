"""Actor-critic with preallocated storage: lambda returns computed with out= into reused memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_num_threads(1)
T, N, GAMMA, LAM = 16, 24, 0.97, 0.9


class Storage:
    def __init__(self):
        self.rewards = torch.zeros(T, N)
        self.notdone = torch.zeros(T, N)
        self.values = torch.zeros(T + 1, N)
        self.adv = torch.zeros(T, N)
        self.returns = torch.zeros(T, N)
        self._tmp = torch.zeros(N)
        self._gae = torch.zeros(N)

    def finish(self):
        self._gae.zero_()
        for t in range(T - 1, -1, -1):
            torch.mul(self.values[t + 1], self.notdone[t], out=self._tmp)
            self._tmp.mul_(GAMMA).add_(self.rewards[t]).sub_(self.values[t])
            self._gae.mul_(self.notdone[t]).mul_(GAMMA * LAM)
            torch.add(self._gae, self._tmp, out=self._gae)
            self.adv[t].copy_(self._gae)
        torch.add(self.adv, self.values[:-1], out=self.returns)


class Maze:
    """5x5 grids; the goal is drawn per episode and shown to the agent."""

    def __init__(self):
        self.pos = torch.randint(5, (N, 2))
        self.goal = torch.randint(5, (N, 2))
        self.moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])
        self.age = torch.zeros(N, dtype=torch.long)

    def obs(self):
        return torch.cat([self.pos, self.goal], 1).float() / 2 - 1

    def step(self, a):
        self.pos = (self.pos + self.moves[a]).clamp(0, 4)
        self.age += 1
        hit = (self.pos == self.goal).all(1)
        done = hit | (self.age > 25)
        k = int(done.sum())
        self.pos[done], self.goal[done] = torch.randint(5, (k, 2)), torch.randint(5, (k, 2))
        self.age[done] = 0
        return hit.float() - 0.02, 1.0 - done.float()


body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
pi, v = nn.Linear(64, 4), nn.Linear(64, 1)
params = [*body.parameters(), *pi.parameters(), *v.parameters()]
opt = torch.optim.Adam(params, lr=4e-3)
env, mem, curve = Maze(), Storage(), []
for it in range(90):
    logps, vals, ents = [], [], []
    for t in range(T):
        h = body(env.obs())
        dist = torch.distributions.Categorical(logits=pi(h))
        a = dist.sample()
        val = v(h).squeeze(1)
        r, nd = env.step(a)
        mem.rewards[t] = r
        mem.notdone[t] = nd
        mem.values[t].copy_(val.detach())
        logps.append(dist.log_prob(a))
        vals.append(val)
        ents.append(dist.entropy())
    with torch.no_grad():
        mem.values[T] = v(body(env.obs())).squeeze(1)
    mem.finish()
    adv = (mem.adv - mem.adv.mean()) / (mem.adv.std() + 1e-8)
    loss = -(torch.stack(logps) * adv).mean() + 0.5 * F.mse_loss(torch.stack(vals), mem.returns)
    loss = loss - 0.01 * torch.stack(ents).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.5)
    opt.step()
    curve.append(mem.rewards.mean().item())
print("reward per step %.3f -> %.3f" % (sum(curve[:10]) / 10, sum(curve[-10:]) / 10))
