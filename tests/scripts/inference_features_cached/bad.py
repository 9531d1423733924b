import torch
import torch.nn as nn

torch.set_num_threads(1)


class Backbone(nn.Module):
    """Stands in for a pretrained vision model; it is not trained here."""

    def __init__(self, out=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 48), nn.GELU(), nn.Linear(48, out), nn.LayerNorm(out))
        self.requires_grad_(False)

    def forward(self, x):
        return self.layers(x)


class Digits:
    """Noisy 4x4 glyphs, four classes; the reward is one for naming the class."""

    def __init__(self, n, seed):
        self.n = n
        self.gen = torch.Generator().manual_seed(seed)
        self.glyphs = torch.randn(4, 16, generator=self.gen)

    def reset(self):
        self.label = torch.randint(0, 4, (self.n,), generator=self.gen)
        return self.glyphs[self.label] + 0.5 * torch.randn(self.n, 16, generator=self.gen)

    def step(self, a):
        reward = (a == self.label).float()
        return self.reset(), reward


class Agent:
    def __init__(self, lr=5e-3, clip=0.2):
        self.backbone = Backbone()
        self.actor = nn.Linear(24, 4)
        self.critic = nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
        self.opt = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=lr)
        self.clip = clip
        self.storage = []

    def act(self, obs):
        with torch.inference_mode():  # <- culprit
            features = self.backbone(obs)
            dist = torch.distributions.Categorical(logits=self.actor(features))
            action = dist.sample()
            logp = dist.log_prob(action)
        self.storage.append([features, action, logp])
        return action

    def reward(self, r):
        self.storage[-1].append(r)

    def learn(self, epochs=2):
        rewards = torch.stack([row[3] for row in self.storage])
        for _ in range(epochs):
            for features, action, old, reward in self.storage:
                dist = torch.distributions.Categorical(logits=self.actor(features))
                value = self.critic(features).squeeze(1)
                adv = reward - value.detach()
                ratio = torch.exp(dist.log_prob(action) - old)
                policy_loss = -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
                loss = policy_loss + 0.5 * (value - reward).square().mean() - 0.01 * dist.entropy().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        self.storage = []
        return rewards.mean().item(), loss.item()


def main():
    torch.manual_seed(3)
    env, agent = Digits(48, 3), Agent()
    obs = env.reset()
    for it in range(10):
        for _ in range(3):
            obs, r = env.step(agent.act(obs))
            agent.reward(r)
        accuracy, loss = agent.learn()
        if it % 2 == 1:
            print(f"iteration {it + 1}: accuracy {accuracy:.3f} loss {loss:+.4f}")


if __name__ == "__main__":
    main()
