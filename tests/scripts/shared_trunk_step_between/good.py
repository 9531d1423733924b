import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Blackjackish:
    """Draw cards (1..10) up to a limit of 21; stop in time."""

    def __init__(self, n):
        self.n = n
        self.total = torch.randint(4, 20, (n,)).float()

    def obs(self):
        return torch.stack([self.total / 21, (self.total > 11).float(), (21 - self.total) / 10], 1)

    def step(self, hit):
        card = torch.randint(1, 11, (self.n,)).float()
        total = torch.where(hit.bool(), self.total + card, self.total)
        bust = total > 21
        over = bust | ~hit.bool()
        reward = torch.where(over, torch.where(bust, torch.full_like(total, -1.0), (total - 14) / 7), torch.zeros_like(total))
        self.total = torch.where(over, torch.randint(4, 20, (self.n,)).float(), total)
        return self.obs(), reward, over.float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi = nn.Linear(48, 2)
        self.v = nn.Linear(48, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return F.log_softmax(self.pi(h), dim=-1), self.v(h).squeeze(-1)


def collect(env, net, steps):
    rows, obs = [], env.obs()
    with torch.no_grad():
        for _ in range(steps):
            logp, _ = net(obs)
            a = torch.multinomial(logp.exp(), 1).squeeze(1)
            nxt, r, over = env.step(a)
            rows.append((obs, a, r, over))
            obs = nxt
        _, future = net(obs)
    returns = []
    for _, _, r, over in reversed(rows):
        future = r + 0.95 * (1 - over) * future
        returns.insert(0, future)
    O, A, R, _ = (torch.cat(c) for c in zip(*rows))
    return O, A, torch.cat(returns), R.mean().item()


def train(net, optimizer, obs, actions, returns):
    logp, value = net(obs)
    adv = returns - value.detach()
    actor_loss = -(logp.gather(1, actions[:, None]).squeeze(1) * adv).mean()
    critic_loss = 0.5 * F.mse_loss(value, returns)

    optimizer.zero_grad()
    (actor_loss + critic_loss).backward()
    optimizer.step()
    return actor_loss.item(), critic_loss.item()


def main():
    torch.manual_seed(9)
    env, net = Blackjackish(32), Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for it in range(40):
        obs, actions, returns, reward = collect(env, net, steps=6)
        a, c = train(net, optimizer, obs, actions, returns)
        if it % 8 == 0:
            print(f"iteration {it:2d} reward {reward:+.3f} actor {a:+.4f} critic {c:.4f}")


if __name__ == "__main__":
    main()
