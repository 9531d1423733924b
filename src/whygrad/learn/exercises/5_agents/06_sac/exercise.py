"""Soft actor-critic, with a fixed temperature.

Task: fill in the two losses. Rewards come after one step here and nothing follows, so the critics learn the reward itself
(the bootstrapped target is 3_losses/12_sac_critic). The actor minimises alpha · log-probability minus the smaller of both
critics at a reparameterised action. It is solved when whygrad finds nothing and the better action is taken (WG904).
"""

import torch
from torch.distributions import Normal
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    actions = "continuous"
    alpha = 0.02

    def build(self):
        self.actor = network(2, 2)
        self.critics = torch.nn.ModuleList([network(3, 1), network(3, 1)])
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.01)
        self.critic_optimizer = torch.optim.Adam(self.critics.parameters(), lr=0.02)

    def draw(self, states):
        mean, log_std = self.actor(states).chunk(2, -1)
        normal = Normal(mean, log_std.clamp(-3, 0).exp())
        before = normal.rsample()
        action = torch.tanh(before)
        log_prob = (normal.log_prob(before) - torch.log(1 - action**2 + 1e-6)).sum(-1)
        return action, log_prob

    def update(self, batch):
        joined = torch.cat([batch.states, batch.actions], 1)
        critic_loss = ...  # TODO: both critics against the rewards
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        action, log_prob = self.draw(batch.states)
        joined = torch.cat([batch.states, action], 1)
        actor_loss = ...  # TODO
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

    def choose(self, state):
        return self.random.uniform(-1, 1, size=1)

    def best(self, state):
        return torch.tanh(self.actor(state)[:1])
