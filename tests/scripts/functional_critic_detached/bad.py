import torch
import torch.nn as nn
from torch.func import functional_call

torch.set_num_threads(1)


class Losses(nn.Module):
    """Keeps the weights of both networks in dictionaries and calls the networks with them."""

    def __init__(self, actor, critic):
        super().__init__()
        self.actor, self.critic = actor, critic
        self.weights = {name: p for name, p in actor.named_parameters()}
        self.critic_weights = {name: p.detach() for name, p in critic.named_parameters()}  # <- culprit

    def forward(self, obs, action, reward):
        dist = torch.distributions.Categorical(logits=functional_call(self.actor, self.weights, (obs,)))
        value = functional_call(self.critic, self.critic_weights, (obs,)).squeeze(1)
        policy_loss = -(dist.log_prob(action) * (reward - value.detach())).mean()
        return policy_loss + 0.5 * (value - reward).pow(2).mean()


def main():
    torch.manual_seed(0)
    losses = Losses(
        nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2)),
        nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)),
    )
    optimizer = torch.optim.Adam(losses.parameters(), lr=1e-2)
    for i in range(80):
        obs = torch.randn(32, 3)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=losses.actor(obs)).sample()
        reward = (action == (obs[:, 0] > 0).long()).float() + 0.5 * obs[:, 1]
        loss = losses(obs, action, reward)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 20 == 19:
            print(f"update {i + 1} reward {reward.mean():.2f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    main()
