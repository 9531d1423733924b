import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def tower(i, width=48, out=16):
    return nn.Sequential(nn.Linear(i, width), nn.SiLU(), nn.Linear(width, out))


class ContrastiveCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi, self.psi = tower(4), tower(2)

    def pairwise(self, s, a, g):
        return self.phi(torch.cat([s, a], 1)) @ self.psi(g).T / 4.0

    def paired(self, s, a, g):
        return (self.phi(torch.cat([s, a], 1)) * self.psi(g)).sum(1) / 4.0


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 2))

    def forward(self, s, g):
        return torch.tanh(self.f(torch.cat([s, g], 1)))


def drive(actor, n, steps, noise):
    s, g = torch.rand(n, 2) * 2 - 1, torch.rand(n, 2) * 2 - 1
    S, A = [], []
    with torch.no_grad():
        for _ in range(steps):
            a = (actor(s, g) + noise * torch.randn(n, 2)).clamp(-1, 1)
            S.append(s)
            A.append(a)
            s = (s + 0.25 * a).clamp(-1.5, 1.5)
    S.append(s)
    return torch.stack(S), torch.stack(A), (s - g).norm(dim=1).mean().item()


def draw(S, A, k, gamma=0.8):
    """pairs (state, action, state reached a geometric number of steps later)"""
    T, n = A.shape[:2]
    t, e = torch.randint(0, T, (k,)), torch.randint(0, n, (k,))
    ahead = torch.distributions.Geometric(1 - gamma).sample((k,)).long() + 1
    return S[t, e], A[t, e], S[(t + ahead).clamp(max=T), e]


def main():
    torch.manual_seed(141)
    critic, actor = ContrastiveCritic(), Actor()
    opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3)
    opt_a = torch.optim.Adam(actor.parameters(), lr=2e-3)
    for it in range(60):
        S, A, miss = drive(actor, 24, 8, 0.4)
        for _ in range(3):
            s, a, g = draw(S, A, 64)
            logits = critic.pairwise(s, a, g)
            eye = torch.arange(len(s))
            nce = F.cross_entropy(logits, eye) + F.cross_entropy(logits.T, eye)
            nce = nce + 0.01 * logits.logsumexp(1).pow(2).mean()
            opt_c.zero_grad()
            nce.backward()
            opt_c.step()
        goals = g[torch.randperm(len(g))]
        actor_loss = -critic.paired(s, actor(s, goals), goals).mean()
        opt_a.zero_grad()
        actor_loss.backward()
        opt_a.step()
        if it % 12 == 11:
            print(f"it {it} nce {nce.item():.3f} actor {actor_loss.item():+.3f} distance to goal {miss:.3f}")


if __name__ == "__main__":
    main()
