import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Bandits:
    """contextual bandit with four arms"""

    def __init__(self):
        self.w = torch.randn(6, 4)

    def draw(self, n):
        return torch.randn(n, 6)

    def pay(self, x, a):
        return (x @ self.w).gather(1, a[:, None]).squeeze(1) * 0.4 + 0.1 * torch.randn(len(x))


class Learner(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, width), nn.Tanh())
        self.pi, self.v = nn.Linear(width, 4), nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h).log_softmax(1), self.v(h).squeeze(1)


def rl_loss(logp, v, a, r):
    adv = r - v
    pg = -(adv.detach() * logp.gather(1, a[:, None]).squeeze(1)).mean()
    entropy = -(logp.exp() * logp).sum(1).mean()
    return pg + 0.5 * adv.pow(2).mean() - 0.02 * entropy


def imitate(student, teacher):
    return F.kl_div(student, teacher.detach(), reduction="batchmean", log_target=True)


def main():
    torch.manual_seed(111)
    task = Bandits()
    pair = [Learner(16), Learner(64)]
    opts = [torch.optim.Adam(m.parameters(), lr=4e-3) for m in pair]
    for k in range(220):
        x = task.draw(64)
        outs = [m(x) for m in pair]
        total, scores = 0.0, []
        for i, (logp, v) in enumerate(outs):
            a = torch.multinomial(logp.detach().exp(), 1).squeeze(1)
            r = task.pay(x, a)
            total = total + rl_loss(logp, v, a, r) + 0.3 * imitate(logp, outs[1 - i][0])
            scores.append(r.mean().item())
        for o in opts:
            o.zero_grad()
        total.backward()
        for o in opts:
            o.step()
        if k % 44 == 43:
            print(f"k {k} rewards {scores[0]:+.3f} {scores[1]:+.3f} loss {total.item():+.3f}")


if __name__ == "__main__":
    main()
