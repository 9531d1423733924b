import torch
import torch.nn as nn

torch.set_num_threads(1)


class GrowingQ(nn.Module):
    def __init__(self, obs, acts, hidden=8):
        super().__init__()
        self.l1, self.l2 = nn.Linear(obs, hidden), nn.Linear(hidden, acts)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))

    def widen(self, extra):
        h = self.l1.out_features
        new1, new2 = nn.Linear(self.l1.in_features, h + extra), nn.Linear(h + extra, self.l2.out_features)
        with torch.no_grad():
            new1.weight[:h] = self.l1.weight
            new1.bias[:h] = self.l1.bias
            new2.weight[:, :h] = self.l2.weight
            new2.weight[:, h:] *= 0.1
            new2.bias.copy_(self.l2.bias)
        self.l1, self.l2 = new1, new2

    def rescale(self, factor):
        self.l2.weight = nn.Parameter(self.l2.weight.detach() * factor)
        self.l2.bias = nn.Parameter(self.l2.bias.detach() * factor)


class Ring:
    def __init__(self, n=7):
        self.n = n

    def batch(self, size):
        s = torch.randint(self.n, (size,))
        a = torch.randint(2, (size,))
        s2 = (s + 2 * a - 1) % self.n
        return self.enc(s), a, (s2 == 0).float(), self.enc(s2)

    def enc(self, s):
        return torch.eye(self.n)[s]


def main():
    torch.manual_seed(0)
    env, q, target = Ring(), GrowingQ(7, 2), GrowingQ(7, 2)
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=5e-3)
    for it in range(60):
        if it in (20, 40):
            q.widen(8)
            if it == 40:
                q.rescale(0.9)
            opt = torch.optim.Adam(q.parameters(), lr=5e-3)
            target = GrowingQ(7, 2, q.l1.out_features)
            target.load_state_dict(q.state_dict())
        s, a, r, s2 = env.batch(32)
        with torch.no_grad():
            y = r + 0.8 * target(s2).max(1).values
        loss = (q(s).gather(1, a[:, None]).squeeze(1) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 5 == 4:
            target.load_state_dict(q.state_dict())
        if it % 15 == 0:
            print(f"it {it} width {q.l1.out_features} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
