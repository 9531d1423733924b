import torch
import torch.nn as nn

torch.set_num_threads(1)
ITEMS, DIM, K, USERS = 20, 6, 3, 32


class Catalogue:
    def __init__(self, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = torch.randn(ITEMS, DIM, generator=g)

    def users(self, n):
        return torch.randn(n, DIM)

    def clicks(self, users, slate):
        affinity = torch.einsum("ud,ukd->uk", users, self.items[slate])
        return torch.sigmoid(affinity).mean(1)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_tower = nn.Sequential(nn.Linear(DIM, 24), nn.ReLU(), nn.Linear(24, DIM))

    def forward(self, users, items):
        return self.user_tower(users) @ items.T


class SlateCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * DIM, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, users, slate_emb):
        return self.net(torch.cat([users, slate_emb], -1)).squeeze(-1)


def build_slate(scores):
    _, idx = torch.topk(scores, K, dim=-1)  # <- culprit
    return idx


def slate_embedding(items, scores):
    idx = build_slate(scores)
    return items[idx].mean(1)


def main():
    torch.manual_seed(1)
    world, scorer, critic = Catalogue(), Scorer(), SlateCritic()
    opt_s = torch.optim.Adam(scorer.parameters(), lr=3e-3)
    opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3)
    for it in range(40):
        users = world.users(USERS)
        with torch.no_grad():
            scores = scorer(users, world.items) + 0.3 * torch.randn(USERS, ITEMS)
            slate = scores.topk(K, -1).indices
            reward = world.clicks(users, slate)
        value = critic(users, world.items[slate].mean(1))
        c_loss = (value - reward).pow(2).mean()
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()

        s_loss = -critic(users, slate_embedding(world.items, scorer(users, world.items))).mean()
        opt_s.zero_grad()
        s_loss.backward()
        opt_s.step()
        if it % 10 == 0:
            print(f"{it:3d} click rate {reward.mean():.4f} critic {c_loss.item():.4f} scorer {s_loss.item():.4f}")


if __name__ == "__main__":
    main()
