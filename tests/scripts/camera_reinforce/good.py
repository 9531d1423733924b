import math

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Camera:
    """A bright blob on a noisy grey background; turn towards its column (left, middle, right)."""

    SIDE = 9

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.grid = torch.arange(self.SIDE).float()

    def look(self):
        self.col = torch.randint(0, self.SIDE, (self.n,), generator=self.gen)
        row = torch.randint(0, self.SIDE, (self.n,), generator=self.gen)
        dx = (self.grid.view(1, 1, -1) - self.col.view(-1, 1, 1)) ** 2
        dy = (self.grid.view(1, -1, 1) - row.view(-1, 1, 1)) ** 2
        blob = 110 * torch.exp(-(dx + dy) / 3)
        noise = torch.rand(self.n, self.SIDE, self.SIDE, generator=self.gen) * 40
        return (blob + noise + 90).to(torch.uint8)

    def reward(self, a):
        return torch.where(a == self.col // 3, 1.0, -0.5)


class PixelPolicy(nn.Module):
    def __init__(self, side=9, hidden=64, n_act=3):
        super().__init__()
        self.encoder = nn.Linear(side * side, hidden)
        nn.init.normal_(self.encoder.weight, std=0.15)
        self.hidden = nn.Linear(hidden, hidden)
        self.logits = nn.Linear(hidden, n_act)

    def forward(self, img):
        x = (img.flatten(1).float() - 128.0) / 40.0
        x = self.encoder(x).sigmoid()
        x = self.hidden(x - 0.5).tanh()
        return self.logits(x)


def gumbel(shape, gen):
    return -torch.log(-torch.log(torch.rand(shape, generator=gen).clamp(1e-6, 1 - 1e-6)))


def main(updates=150, batch=64):
    torch.manual_seed(19)
    gen = torch.Generator().manual_seed(19)
    env, policy = Camera(batch, gen), PixelPolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=7e-4)
    smooth = 0.0
    for k in range(1, updates + 1):
        logits = policy(env.look())
        a = (logits.detach() + gumbel(logits.shape, gen)).argmax(-1)
        r = env.reward(a)
        logp = logits.log_softmax(-1)[torch.arange(batch), a]
        loss = -((r - r.mean()) * logp).mean()
        opt.zero_grad()
        loss.backward()
        g_in, g_out = (m.weight.grad.norm().item() for m in (policy.encoder, policy.logits))
        opt.step()
        smooth += 0.05 * (r.mean().item() - smooth)
        if k % 25 == 0:
            ratio = g_in / max(g_out, 1e-12)
            print(f"update {k} reward {smooth / (1 - math.pow(0.95, k)):+.3f} gradient encoder/head {ratio:.2e}")


main()
