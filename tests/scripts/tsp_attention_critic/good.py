import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.qkv = nn.Linear(d, 3 * d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, coords):
        h = self.inp(coords)
        q, k, v = self.qkv(h).chunk(3, -1)
        h = h + F.scaled_dot_product_attention(q, k, v)
        return h + self.ff(h)


class Pointer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder = Encoder(d)
        self.query = nn.Linear(2 * d, d)
        self.key = nn.Linear(d, d)

    def forward(self, coords):
        enc = self.encoder(coords)
        keys, graph = self.key(enc), enc.mean(1)
        b, n, d = enc.shape
        rows = torch.arange(b)
        visited = torch.zeros(b, n, dtype=torch.bool)
        visited[:, 0] = True
        last, tour, logps = enc[:, 0], [torch.zeros(b, dtype=torch.long)], []
        for _ in range(n - 1):
            q = self.query(torch.cat([graph, last], -1))
            scores = (keys @ q.unsqueeze(-1)).squeeze(-1) / d ** 0.5
            logits = scores.masked_fill(visited, -1e9)
            dist = torch.distributions.Categorical(logits=logits)
            city = dist.sample()
            logps.append(dist.log_prob(city))
            visited = visited.clone()
            visited[rows, city] = True
            last = enc[rows, city]
            tour.append(city)
        return torch.stack(tour, 1), torch.stack(logps, 1).sum(1)


class Critic(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder = Encoder(d)
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, coords):
        return self.head(self.encoder(coords).mean(1)).squeeze(-1)


def tour_length(coords, tour):
    ordered = coords.gather(1, tour.unsqueeze(-1).expand(-1, -1, 2))
    return (ordered - ordered.roll(-1, 1)).norm(dim=-1).sum(1)


def main(steps=120, batch=64, n=7):
    torch.manual_seed(0)
    actor, critic = Pointer(), Critic()
    nn.init.constant_(critic.head[-1].bias, 3.5)
    optimizer = torch.optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=2e-3)
    for step in range(steps):
        coords = torch.rand(batch, n, 2)
        tour, log_prob = actor(coords)
        reward = tour_length(coords, tour)
        predictions = critic(coords)
        advantage = reward - predictions.detach()
        loss1 = (advantage * log_prob).mean()
        loss2 = F.mse_loss(predictions, reward)
        loss = loss1 + loss2
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 5.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} length {reward.mean():.3f} predicted {predictions.mean():.3f} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
