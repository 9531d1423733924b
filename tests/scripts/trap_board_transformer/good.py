import math

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
SEATS, BATCH, NEG = 5, 48, float("-inf")


class Seating:
    """Seat five guests one after the other; taken seats are illegal, neighbours should get along."""

    def __init__(self):
        self.like = torch.tensor([[0, 2, -1, 0, 1], [2, 0, 1, -1, 0], [-1, 1, 0, 2, 0],
                                  [0, -1, 2, 0, 1], [1, 0, 0, 1, 0]]).float()

    def score(self, order):
        a, b = order[:, :-1], order[:, 1:]
        return self.like[a, b].sum(1) / 3


class Arranger(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.embed = nn.Embedding(SEATS + 1, d)
        self.pos = nn.Parameter(0.1 * torch.randn(SEATS, d))
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head, self.value = nn.Linear(d, SEATS), nn.Linear(d, 1)

    def forward(self, prefix):
        t = prefix.shape[1]
        x = self.embed(prefix) + self.pos[:t]
        att = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = x + att.masked_fill(future, NEG).softmax(-1) @ self.v(x)
        x = x + self.mlp(x)
        return self.head(x), self.value(x).squeeze(-1)

    def policy(self, order):
        """Distributions over the next guest at every position, given the guests before."""
        start = torch.full((len(order), 1), SEATS)
        prefix = torch.cat([start, order[:, :-1]], 1)
        logits, value = self(prefix)
        seated = torch.zeros(*order.shape, SEATS, dtype=torch.bool)
        for i in range(1, order.shape[1]):
            seated[:, i] = seated[:, i - 1].scatter(1, order[:, i - 1:i], True)
        return Categorical(logits=logits.masked_fill(seated, NEG)), value

    @torch.no_grad()
    def sample(self, n):
        order = torch.zeros(n, SEATS, dtype=torch.long)
        for i in range(SEATS):
            dist, _ = self.policy(order[:, :i + 1])
            order[:, i] = dist.sample()[:, i]
        return order


def main():
    torch.manual_seed(41)
    game, net = Seating(), Arranger()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for it in range(1, 31):
        order = net.sample(BATCH)
        score = game.score(order)
        with torch.no_grad():
            dist, value = net.policy(order)
            old = dist.log_prob(order)
        target = score[:, None].expand_as(value)
        adv = target - value
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(3):
            dist, v = net.policy(order)
            ratio = (dist.log_prob(order) - old).exp()
            pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)[:, :-1].mean()
            loss = pg + 0.5 * (v - target).pow(2).mean() - 0.02 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        if it % 6 == 0:
            print(f"iter {it} score {score.mean():+.3f} entropy {dist.entropy().mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
