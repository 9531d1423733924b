import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class InstanceBank:
    """Random cities, recentred once so that every epoch sees the same problems."""

    def __init__(self, size, cities, seed):
        gen = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            raw = torch.rand(size, cities, 2, generator=gen)
            self.coords = raw - raw.mean(dim=1, keepdim=True)

    def batches(self, n):
        chunks = self.coords.split(n)
        for i in torch.randperm(len(chunks)).tolist():
            yield chunks[i]


class RoutePolicy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Linear(2, width)
        self.mix = nn.Sequential(nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, width))
        self.query = nn.Linear(2 * width, width)

    def encode(self, coords):
        h = self.embed(coords)
        ctx = h.mean(dim=1, keepdim=True).expand_as(h)
        return h + self.mix(torch.cat([h, ctx], dim=-1))

    def forward(self, coords, greedy=False):
        b, n, _ = coords.shape
        nodes = self.encode(coords)
        rows = torch.arange(b)
        current = torch.zeros(b, dtype=torch.long)
        visited = torch.zeros(b, n, dtype=torch.bool)
        visited[:, 0] = True
        tour, logp = [current], torch.zeros(b)
        for _ in range(n - 1):
            q = self.query(torch.cat([nodes[rows, current], nodes[:, 0]], dim=-1))
            score = torch.einsum("bd,bnd->bn", q, nodes) / nodes.shape[-1] ** 0.5
            score = score.masked_fill(visited, -1e9)
            dist = Categorical(logits=score)
            current = score.argmax(1) if greedy else dist.sample()
            logp = logp + dist.log_prob(current)
            visited = visited.clone()
            visited[rows, current] = True
            tour.append(current)
        return torch.stack(tour, dim=1), logp


def tour_length(coords, tour):
    path = coords.gather(1, tour.unsqueeze(-1).expand(-1, -1, 2))
    return (path - path.roll(-1, dims=1)).norm(dim=-1).sum(1)


def train(epochs=6):
    torch.manual_seed(0)
    bank = InstanceBank(size=512, cities=7, seed=1)
    policy = RoutePolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        for coords in bank.batches(64):
            tour, logp = policy(coords)
            with torch.no_grad():
                greedy_tour, _ = policy(coords, greedy=True)
                cost, baseline = tour_length(coords, tour), tour_length(coords, greedy_tour)
            loss = ((cost - baseline) * logp).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += cost.mean().item()
        print(f"epoch {epoch} sampled length {total / 8:.3f}")


if __name__ == "__main__":
    train()
