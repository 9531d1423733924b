import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class DelayedCue:
    """a cue is flashed, three steps later the matching lever pays"""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.t = torch.randint(0, 4, (n,), generator=gen)
        self.cue = torch.randint(0, 2, (n,), generator=gen)

    def observe(self):
        o = torch.zeros(self.n, 3)
        show = self.t == 0
        o[show, self.cue[show]] = 1.0
        o[:, 2] = (self.t == 3).float()
        return o

    def step(self, a):
        pay = (self.t == 3).float() * torch.where(a == self.cue, 1.0, -1.0)
        fresh = self.t == 3
        self.t = (self.t + 1) % 4
        self.cue = torch.where(fresh, torch.randint(0, 2, (self.n,), generator=self.gen), self.cue)
        return pay


class Recurrent(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.cell = nn.GRUCell(3, hidden)
        self.pi, self.v = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, o, h):
        h = self.cell(o, h)
        return self.pi(h), self.v(h).squeeze(-1), h


class Worker:
    def __init__(self, n_envs=24, seed=14, lr=4e-3, gamma=0.8):
        torch.manual_seed(seed)
        self.gen = torch.Generator().manual_seed(seed)
        self.env = DelayedCue(n_envs, self.gen)
        self.net = Recurrent()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.memory = torch.zeros(n_envs, 32)
        self.gamma = gamma

    def play(self, length):
        h, logps, values, rewards, entropies = self.memory, [], [], [], []
        for _ in range(length):
            logits, value, h = self.net(self.env.observe(), h)
            dist = torch.distributions.Categorical(logits=logits)
            action = dist.sample()
            rewards.append(self.env.step(action))
            logps.append(dist.log_prob(action))
            entropies.append(dist.entropy())
            values.append(value)
        with torch.no_grad():
            tail = self.net(self.env.observe(), h)[1]
        self.memory = h.detach()
        returns = []
        for r in reversed(rewards):
            tail = r + self.gamma * tail
            returns.append(tail)
        returns = torch.stack(returns[::-1])
        return torch.stack(logps), torch.stack(values), returns, torch.stack(entropies), torch.stack(rewards)

    def update(self):
        logps, values, returns, entropies, rewards = self.play(8)
        adv = (returns - values).detach()
        loss = -(adv * logps).mean() + 0.5 * F.mse_loss(values, returns) - 0.01 * entropies.mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
        self.optimizer.step()
        return loss.item(), rewards.sum(0).mean().item() / 2


if __name__ == "__main__":
    worker = Worker()
    for k in range(150):
        loss, score = worker.update()
        if k % 30 == 29:
            print(f"update {k} loss {loss:+.3f} correct-minus-wrong {score:+.3f}")
