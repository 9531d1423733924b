import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(19)


class SlipperyLedge:
    """1-D ledge in [-1, 1]; risky fast moves, safe slow ones. Vector of walkers."""

    def __init__(self, n):
        self.n = n
        self.x = torch.rand(n) - 0.5

    def obs(self):
        return torch.stack([self.x, self.x ** 2], 1)

    def step(self, a):
        pace = torch.tensor([-0.25, -0.08, 0.08, 0.25])[a]
        self.x = self.x + pace + 0.05 * torch.randn(self.n)
        fell = self.x.abs() > 1
        reward = torch.where(fell, -1.0, torch.exp(-8 * (self.x - 0.6) ** 2))
        out = self.obs(), reward, fell.float()
        self.x = torch.where(fell, torch.rand(self.n) - 0.5, self.x)
        return out


class QuantileNet(nn.Module):
    def __init__(self, n_act=4, n_quant=16):
        super().__init__()
        self.n_act, self.n_quant = n_act, n_quant
        self.body = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.head = nn.Linear(48, n_act * n_quant)

    def forward(self, x):
        return self.head(self.body(x)).view(-1, self.n_act, self.n_quant)


def quantile_huber(pred, target, taus):
    u = target.unsqueeze(1) - pred.unsqueeze(2)
    huber = torch.where(u.abs() <= 1, 0.5 * u ** 2, u.abs() - 0.5)
    return ((taus.view(1, -1, 1) - (u.detach() < 0).float()).abs() * huber).mean(2).sum(1).mean()


class QRAgent:
    def __init__(self, tau=0.02, gamma=0.9):
        self.net, self.target_net = QuantileNet(), QuantileNet()
        self.target_net.load_state_dict(self.net.state_dict())
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.taus = (torch.arange(16) + 0.5) / 16
        self.tau, self.gamma = tau, gamma

    @torch.no_grad()
    def act(self, obs, eps):
        greedy = self.net(obs).mean(2).argmax(1)
        return torch.where(torch.rand(len(obs)) < eps, torch.randint(0, 4, (len(obs),)), greedy)

    def soft_update(self):
        source = self.net.state_dict()
        mixed = self.target_net.state_dict()
        for name in mixed:
            mixed[name] = self.tau * source[name] + (1 - self.tau) * mixed[name]  # <- culprit

    def learn(self, s, a, r, s2, d):
        rows = torch.arange(len(s))
        with torch.no_grad():
            nxt = self.target_net(s2)  # <- culprit
            best = nxt.mean(2).argmax(1)
            y = r[:, None] + self.gamma * (1 - d[:, None]) * nxt[rows, best]
        loss = quantile_huber(self.net(s)[rows, a], y, self.taus)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.soft_update()
        return loss.item()


def main():
    env, agent, memory = SlipperyLedge(16), QRAgent(), []
    for step in range(300):
        s = env.obs()
        a = agent.act(s, max(0.1, 1 - step / 150))
        s2, r, d = env.step(a)
        memory.append((s, a, r, s2, d))
        pick = torch.randint(0, len(memory), (4,)).tolist()
        loss = agent.learn(*(torch.cat(c) for c in zip(*[memory[i] for i in pick])))
        if step % 60 == 59:
            print(f"step {step + 1} reward {r.mean():.3f} loss {loss:.3f}")


if __name__ == "__main__":
    main()
