import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Cliff:
    """4x10 cliff walking, vectorised; stepping off costs 10"""

    H, W = 4, 10

    def __init__(self, n):
        self.n = n
        self.y, self.x = torch.full((n,), 3), torch.zeros(n, dtype=torch.long)

    def obs(self):
        return torch.cat([F.one_hot(self.y, self.H), F.one_hot(self.x, self.W)], 1).float()

    def step(self, a):
        y = (self.y + (a == 1).long() - (a == 0).long()).clamp(0, self.H - 1)
        x = (self.x + (a == 3).long() - (a == 2).long()).clamp(0, self.W - 1)
        fell = (y == 3) & (x > 0) & (x < self.W - 1)
        goal = (y == 3) & (x == self.W - 1)
        over = fell | goal
        reward = torch.where(fell, -10.0, -0.1) + 5.0 * goal.float() + 0.2 * (x - self.x).float()
        self.y = torch.where(over, torch.full_like(y, 3), y)
        self.x = torch.where(over, torch.zeros_like(x), x)
        return reward, over.float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(14, 64), nn.Tanh())
        self.actor = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, o):
        f = self.features(o)
        return self.actor(f), self.critic(f).squeeze(-1)


def pretrain_features(net):
    """fit the first layer to tell cells apart, then keep it fixed"""
    head = nn.Linear(64, 40)
    opt = torch.optim.Adam([*net.features.parameters(), *head.parameters()], lr=1e-2)
    y, x = torch.meshgrid(torch.arange(4), torch.arange(10), indexing="ij")
    o = torch.cat([F.one_hot(y.flatten(), 4), F.one_hot(x.flatten(), 10)], 1).float()
    for _ in range(40):
        loss = F.cross_entropy(head(net.features(o)), torch.arange(40))
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.features.requires_grad_(False)


def main():
    torch.manual_seed(55)
    env, net = Cliff(16), Net()
    pretrain_features(net)
    trainable = filter(lambda p: p.requires_grad, net.parameters())  # <- culprit
    optimizer = torch.optim.RMSprop(trainable, lr=1e-3)
    for update in range(120):
        logps, values, entropies, rewards, overs = [], [], [], [], []
        for _ in range(10):
            logits, v = net(env.obs())
            dist = torch.distributions.Categorical(logits=logits)
            a = dist.sample()
            r, over = env.step(a)
            logps.append(dist.log_prob(a))
            entropies.append(dist.entropy())
            values.append(v)
            rewards.append(r)
            overs.append(over)
        with torch.no_grad():
            ret = net(env.obs())[1]
        returns = []
        for r, over in zip(reversed(rewards), reversed(overs)):
            ret = r + 0.95 * (1 - over) * ret
            returns.insert(0, ret)
        returns, values = torch.stack(returns), torch.stack(values)
        adv = (returns - values).detach()
        loss = -(adv * torch.stack(logps)).mean() + 0.5 * (returns - values).pow(2).mean() - 0.02 * torch.stack(entropies).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trainable, max_norm=2.0)  # <- culprit
        optimizer.step()
        if update % 24 == 23:
            print(f"update {update} reward {torch.stack(rewards).mean():+.3f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    main()
