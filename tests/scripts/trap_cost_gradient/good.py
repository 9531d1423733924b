import torch
import torch.nn as nn

torch.set_num_threads(1)


class Depot:
    """Choose how much to order (0..4); holding and missing stock cost money."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.stock = torch.randint(0, 6, (self.n,)).float()
        self.trend = torch.rand(self.n)
        return self.obs()

    def obs(self):
        return torch.stack([self.stock / 6, self.trend, (self.stock / 6 - self.trend)], 1)

    def step(self, order):
        self.stock = (self.stock + order.float()).clamp(max=8)
        demand = torch.poisson(4 * self.trend)
        missing = (demand - self.stock).clamp(min=0)
        self.stock = (self.stock - demand).clamp(min=0)
        cost = 0.1 * self.stock + 0.4 * missing + 0.05 * order
        self.trend = (0.8 * self.trend + 0.2 * torch.rand(self.n)).clamp(0, 1)
        return self.obs(), cost


class Buyer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 5))

    def forward(self, o):
        return self.net(o).log_softmax(-1)


def cost_to_go(costs, gamma=0.6):
    out, run = [], torch.zeros_like(costs[0])
    for c in reversed(costs):
        run = c + gamma * run
        out.append(run)
    return torch.stack(out[::-1])


def main(n=48, horizon=8, updates=160):
    torch.manual_seed(70)
    env, buyer = Depot(n), Buyer()
    opt = torch.optim.Adam(buyer.parameters(), lr=4e-3)
    for k in range(1, updates + 1):
        obs, chosen, costs, entropy = env.reset(), [], [], []
        for _ in range(horizon):
            table = buyer(obs)
            order = torch.multinomial(table.detach().exp(), 1)
            chosen.append(table.gather(1, order).squeeze(1))
            entropy.append(-(table.exp() * table).sum(1))
            obs, c = env.step(order.squeeze(1))
            costs.append(c)
        togo = cost_to_go(costs)
        excess = (togo - togo.mean(1, keepdim=True)) / (togo.std() + 1e-6)
        expected_cost = (excess * torch.stack(chosen)).mean()
        loss = expected_cost - 0.01 * torch.stack(entropy).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 20 == 0:
            print(f"update {k} cost {torch.stack(costs).mean():.3f} entropy {torch.stack(entropy).mean().item():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
