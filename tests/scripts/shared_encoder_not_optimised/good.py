import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class SetEncoder(nn.Module):
    """Embeds every object of a scene and averages."""

    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, scene):
        return self.embed(scene).mean(dim=1)


class PolicyHead(nn.Module):
    def __init__(self, width=32, n_actions=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Tanh(), nn.Linear(width, n_actions))

    def forward(self, z):
        return torch.distributions.Categorical(logits=self.layers(z))


class ValueHead(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Tanh(), nn.Linear(width, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, z):
        return self.layers(z).squeeze(-1)


class Crowd:
    """Walk away from a crowd: the best direction is against its mean position."""

    directions = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])

    def __init__(self, n, people=5):
        self.n, self.people = n, people
        self.new()

    def new(self):
        centre = torch.randn(self.n, 1, 2)
        self.scene = torch.cat([centre + 0.5 * torch.randn(self.n, self.people, 2), torch.randn(self.n, self.people, 2)], -1)

    def step(self, a):
        mean = self.scene[..., :2].mean(1)
        reward = -(self.directions[a] * mean).sum(1)
        moved = self.scene.clone()
        moved[..., :2] -= 0.5 * self.directions[a][:, None]
        self.scene = moved
        return reward


class Agent:
    def __init__(self, lr=3e-3):
        self.encoder, self.policy, self.value = SetEncoder(), PolicyHead(), ValueHead()
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.value_optim = torch.optim.Adam(itertools.chain(self.encoder.parameters(), self.value.parameters()), lr=lr)

    def act(self, scene):
        with torch.no_grad():
            return self.policy(self.encoder(scene)).sample()

    def update(self, scenes, actions, returns):
        z = self.encoder(scenes)
        value = self.value(z)
        value_loss = F.mse_loss(value, returns)
        advantage = returns - value.detach()
        dist = self.policy(z.detach())
        policy_loss = -(dist.log_prob(actions) * advantage).mean() - 0.01 * dist.entropy().mean()
        self.policy_optim.zero_grad()
        self.value_optim.zero_grad()
        (policy_loss + value_loss).backward()
        self.policy_optim.step()
        self.value_optim.step()
        return policy_loss.item(), value_loss.item()


if __name__ == "__main__":
    torch.manual_seed(14)
    env, agent = Crowd(24), Agent()
    for it in range(40):
        env.new()
        scenes, actions, rewards = [], [], []
        for _ in range(4):
            a = agent.act(env.scene)
            scenes.append(env.scene), actions.append(a), rewards.append(env.step(a))
        g, returns = torch.zeros(24), []
        for r in reversed(rewards):
            g = r + 0.8 * g
            returns.insert(0, g)
        pl, vl = agent.update(torch.cat(scenes), torch.cat(actions), torch.cat(returns))
        if it % 8 == 0:
            print(f"iter {it} reward {torch.cat(rewards).mean():+.3f} policy {pl:+.3f} value {vl:.3f}")
