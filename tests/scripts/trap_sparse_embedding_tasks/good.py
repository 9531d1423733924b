import random
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Recommender(nn.Module):
    def __init__(self, users=200, items=30, d=12, groups=4):
        super().__init__()
        self.users = nn.Embedding(users, d, sparse=True)
        self.items = nn.Embedding(items, d)
        self.heads = nn.ModuleList(nn.Linear(d, d) for _ in range(groups))

    def logits(self, user, group):
        return self.heads[group](self.users(user)) @ self.items.weight.t()


def main():
    random.seed(0)
    torch.manual_seed(0)
    model = Recommender()
    taste = torch.randint(0, 30, (4,))
    sparse_opt = torch.optim.SparseAdam(model.users.parameters(), lr=1e-2)
    dense_opt = torch.optim.Adam([*model.items.parameters(), *model.heads.parameters()], lr=1e-2)
    baseline = [0.0] * 4
    for step in range(50):
        group = random.randrange(4)
        user = torch.randint(group * 10, group * 10 + 10, (24,))  # only 40 of 200 users ever log in
        dist = torch.distributions.Categorical(logits=model.logits(user, group))
        item = dist.sample()
        reward = 1.0 - (item - taste[group]).abs().clamp(max=10).float() / 10
        weight = reward - baseline[group]
        baseline[group] += 0.2 * (reward.mean().item() - baseline[group])
        loss = -(dist.log_prob(item) * weight).mean() - 0.01 * dist.entropy().mean()
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss.backward()
        sparse_opt.step()
        dense_opt.step()
        if step % 12 == 0:
            print(f"step {step} group {group} reward {reward.mean():.3f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    main()
