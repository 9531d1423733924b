from collections import deque

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Collector:
    def __init__(self, actor, critic):
        self.actor, self.critic = actor, critic
        self.recent = deque(maxlen=50)

    @torch.no_grad()
    def predict(self, obs):
        return self.critic(obs).squeeze(1)

    def collect(self, n=32):
        obs = torch.randn(n, 4)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=self.actor(obs)).sample()
        reward = (action == (obs[:, 0] > 0).long()).float() + 0.3 * obs[:, 1]
        batch = {"obs": obs, "action": action, "reward": reward, "predicted": self.predict(obs)}
        self.recent.append(batch)
        return batch

    def mean_prediction(self):
        return torch.stack([batch["predicted"].detach().mean() for batch in self.recent]).mean().item()


def update(collector, batch, optimizer, epochs=6):
    advantage = batch["reward"] - batch["predicted"].detach()
    for _ in range(epochs):
        dist = torch.distributions.Categorical(logits=collector.actor(batch["obs"]))
        policy_loss = -(dist.log_prob(batch["action"]) * advantage).mean()
        value_loss = (collector.critic(batch["obs"]).squeeze(1) - batch["reward"]).pow(2).mean()
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
    collector = Collector(actor, critic)
    for i in range(20):
        batch = collector.collect()
        update(collector, batch, optimizer)
        if i % 5 == 4:
            print(f"{i + 1} reward {batch['reward'].mean():.2f} predicted {collector.mean_prediction():.2f}")


if __name__ == "__main__":
    main()
