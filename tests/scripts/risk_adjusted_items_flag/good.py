# risk-sensitive policy gradient for a 5-armed bandit with contexts
import argparse

import torch
import torch.nn as nn

torch.set_num_threads(1)


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=40)
    ap.add_argument("--batch", type=int, default=24)
    ap.add_argument("--risk", type=float, default=0.2)
    ap.add_argument("--lr", type=float, default=0.02)
    return ap.parse_args()


class ContextBandit:
    def __init__(self):
        self.means = torch.tensor([[0.0, 0.2, 0.5, 0.1, 1.0], [1.0, 0.0, 0.3, 0.2, -0.5]])
        self.std = torch.tensor([0.1, 0.1, 0.3, 0.2, 1.0])

    def contexts(self, n):
        return torch.randint(0, 2, (n,))

    def pull(self, ctx, arm):
        return self.means[ctx, arm] + self.std[arm] * torch.randn(len(arm))


class SoftmaxPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, ctx):
        return torch.distributions.Categorical(logits=self.head(self.table(ctx)))


def mean_variance(losses, risk):
    vec = torch.stack(losses)
    return vec.mean() + risk * vec.var()


def main():
    args = parse()
    torch.manual_seed(0)
    env = ContextBandit()
    policy = SoftmaxPolicy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=args.lr, momentum=0.9)
    baseline = 0.0
    for it in range(args.iters):
        ctx = env.contexts(args.batch)
        dist = policy(ctx)
        arm = dist.sample()
        reward = env.pull(ctx, arm)
        per_sample = [-(r - baseline) * lp for r, lp in zip(reward, dist.log_prob(arm))]
        loss = mean_variance(per_sample, args.risk)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * reward.mean().item()
        if it % 10 == 0:
            print(f"iter {it:3d} | reward {reward.mean():+.3f} | entropy {dist.entropy().mean():.3f}")


if __name__ == "__main__":
    main()
