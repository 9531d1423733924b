import torch
import torch.nn as nn
from torch.distributions import Normal
from torch.func import functional_call

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, s):
        return self.f(s), self.log_std.exp()


def episode(net, weights, goal, n=40, steps=4):
    """vectorised rollouts; returns states, actions, and discounted returns-to-go"""
    s = torch.zeros(n, 2)
    S, A, R = [], [], []
    with torch.no_grad():
        for _ in range(steps):
            a = Normal(*functional_call(net, weights, (s,))).sample()
            S.append(s)
            A.append(a)
            s = s + 0.4 * a.clamp(-1, 1)
            R.append(-(s - goal).norm(dim=1))
    g, G = torch.zeros(n), []
    for r in reversed(R):
        g = r + 0.9 * g
        G.insert(0, g)
    G = torch.stack(G)
    return torch.stack(S), torch.stack(A), (G - G.mean(1, keepdim=True)) / (G.std() + 1e-6), R[-1].mean().item()


def pg_loss(net, weights, batch):
    s, a, g, _ = batch
    logp = Normal(*functional_call(net, weights, (s,))).log_prob(a).sum(-1)
    return -(logp * g).mean()


def adapt(net, weights, batch, lr=0.3):
    grads = torch.autograd.grad(pg_loss(net, weights, batch), list(weights.values()), create_graph=True)
    return {k: w - lr * g for (k, w), g in zip(weights.items(), grads)}


def main():
    torch.manual_seed(131)
    net = Net()
    meta = torch.optim.Adam(net.parameters(), lr=3e-3)
    for it in range(60):
        outer, before, after = 0.0, 0.0, 0.0
        goals = torch.randn(4, 2)
        goals = goals / goals.norm(dim=1, keepdim=True)
        for goal in goals:
            theta = dict(net.named_parameters())
            support = episode(net, theta, goal)
            fast = adapt(net, theta, support)
            query = episode(net, fast, goal)
            outer = outer + pg_loss(net, fast, query) / len(goals)
            before, after = before + support[3] / 4, after + query[3] / 4
        meta.zero_grad()
        outer.backward()
        meta.step()
        if it % 12 == 11:
            print(f"it {it} final reward before {before:+.3f} after one step {after:+.3f}")


if __name__ == "__main__":
    main()
