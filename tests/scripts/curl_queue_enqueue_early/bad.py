import torch
import torch.nn as nn
import torch.nn.functional as F
from copy import deepcopy

torch.set_num_threads(1)


class ContrastiveQueue(nn.Module):
    def __init__(self, encoder, dim=16, size=64, momentum=0.95, temp=0.2):
        super().__init__()
        self.encoder_q = encoder
        self.encoder_k = deepcopy(encoder).requires_grad_(False)
        self.m, self.temp, self.size = momentum, temp, size
        self.register_buffer("queue", F.normalize(torch.randn(dim, size), dim=0))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        i, n = int(self.ptr), keys.shape[0]
        self.queue[:, i : i + n] = keys.t()  # <- culprit
        self.ptr.fill_((i + n) % self.size)

    def forward(self, view_q, view_k):
        q = F.normalize(self.encoder_q(view_q), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.encoder_k(view_k), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue
        self.enqueue(k)
        logits = torch.cat([pos, neg], 1) / self.temp
        return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))


class Blobs:
    """16 parallel 6x6 images with one bright pixel to be classified left/right."""

    def __init__(self, n=16):
        self.n = n

    def observe(self):
        self.x = torch.randint(0, 6, (self.n,))
        img = 0.1 * torch.randn(self.n, 1, 6, 6)
        img[torch.arange(self.n), 0, torch.randint(0, 6, (self.n,)), self.x] += 2.0
        return img

    def reward(self, a):
        return (a == (self.x >= 3).long()).float()


def augment(img):
    return img + 0.05 * torch.randn_like(img)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 16))
        self.pi, self.v = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, img):
        z = self.enc(img)
        return torch.distributions.Categorical(logits=self.pi(z)), self.v(z).squeeze(-1)


def train(steps=30):
    torch.manual_seed(0)
    env, agent = Blobs(), Agent()
    moco = ContrastiveQueue(agent.enc)
    opt = torch.optim.Adam(agent.parameters(), lr=2e-3)
    for step in range(steps):
        img = env.observe()
        dist, value = agent(img)
        a = dist.sample()
        r = env.reward(a)
        adv = (r - value).detach()
        rl_loss = -(dist.log_prob(a) * adv).mean() + 0.5 * F.mse_loss(value, r) - 0.01 * dist.entropy().mean()
        loss = rl_loss + 0.1 * moco(augment(img), augment(img))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"step {step} reward {r.mean():.2f} loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
