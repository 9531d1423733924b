"""An actor-critic whose critic is also pushed by the policy loss.

It runs, and it even learns a little. The advantage keeps its graph, so the policy loss changes the values
to make itself smaller, instead of leaving them to the value loss. Run it with `whygrad run examples/actor_critic_leak.py`.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


def play(agent, steps=64):
    """One observation, one action, one reward: the right action is written in the observation."""
    obs = torch.randn(steps, 4)
    with torch.no_grad():
        action = agent(obs)[0].sample()
    reward = (action == obs[:, :3].argmax(-1)).float() + 0.1 * torch.randn(steps)
    return obs, action, reward


def update(agent, optimizer, obs, action, returns):
    policy, value = agent(obs)
    advantage = returns - value
    policy_loss = -(policy.log_prob(action) * advantage).mean()
    value_loss = F.mse_loss(value, returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    return returns.mean().item()


def main(updates=300):
    agent = ActorCritic()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    for number in range(updates):
        reward = update(agent, optimizer, *play(agent))
        if number % 50 == 0:
            print(f"update {number:3d}  reward {reward:+.2f}")


if __name__ == "__main__":
    main()
