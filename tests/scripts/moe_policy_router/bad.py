import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)


class Router(nn.Module):
    def __init__(self, dim, n_experts):
        super().__init__()
        self.score = nn.Linear(dim, n_experts)

    def forward(self, x):
        gates = F.softmax(self.score(x), dim=-1)
        index = gates.argmax(dim=-1)  # <- culprit
        return F.one_hot(index, gates.shape[-1]).to(x.dtype)


class SparsePolicy(nn.Module):
    def __init__(self, dim=8, n_actions=5, n_experts=4, width=24):
        super().__init__()
        self.router = Router(dim, n_experts)
        self.w_in = nn.Parameter(torch.randn(n_experts, dim, width) / dim ** 0.5)
        self.w_out = nn.Parameter(torch.randn(n_experts, width, n_actions) / width ** 0.5)

    def forward(self, x):
        dispatch = self.router(x)
        h = torch.tanh(torch.einsum("bd,edw->bew", x, self.w_in))
        y = torch.einsum("bew,ewa->bea", h, self.w_out)
        return Categorical(logits=torch.einsum("be,bea->ba", dispatch, 4.0 * y))


class RegimeBandit:
    def __init__(self, dim=8, regimes=4, n_actions=5):
        g = torch.Generator().manual_seed(4)
        self.centres = torch.randn(regimes, dim, generator=g) * 1.5
        self.pay = torch.randn(regimes, dim, n_actions, generator=g)

    def contexts(self, n):
        regime = torch.randint(0, len(self.centres), (n,))
        return self.centres[regime] + 0.5 * torch.randn(n, self.centres.shape[1]), regime

    def reward(self, ctx, regime, action):
        mean = torch.einsum("bd,bda->ba", ctx, self.pay[regime])
        return torch.tanh(mean.gather(1, action[:, None]).squeeze(1))


def main(updates=250, n=128):
    torch.manual_seed(0)
    world, policy = RegimeBandit(), SparsePolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    avg = 0.0
    for u in range(updates):
        ctx, regime = world.contexts(n)
        dist = policy(ctx)
        action = dist.sample()
        reward = world.reward(ctx, regime, action)
        advantage = reward - avg
        loss = -(dist.log_prob(action) * advantage).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg = 0.9 * avg + 0.1 * reward.mean().item()
        if u % 50 == 0:
            print(f"update {u:4d} reward {reward.mean().item():+.3f}")


if __name__ == "__main__":
    main()
