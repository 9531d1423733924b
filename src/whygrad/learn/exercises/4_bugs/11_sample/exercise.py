"""Find the bug: an actor that the critic cannot reach.

A critic learns what actions are worth; the actor should follow its gradient. The critic is right, the actor stays where
it was.

Task: find where the gradient from the critic to the actor ends (TODO), so that whygrad finds nothing and the better
action is learnt.
"""

import torch
from torch.distributions import Normal
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    actions = "continuous"

    def build(self):
        self.actor = network(2, 1)
        self.critic = network(3, 1)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.01)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        value = self.critic(torch.cat([batch.states, batch.actions], 1)).squeeze(1)
        critic_loss = mse_loss(value, batch.rewards)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        action = Normal(self.actor(batch.states), 0.3).sample()
        actor_loss = -self.critic(torch.cat([batch.states, action], 1)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

    def choose(self, state):
        return self.random.uniform(-1, 1, size=1)

    def best(self, state):
        return self.actor(state).clamp(-1, 1)
