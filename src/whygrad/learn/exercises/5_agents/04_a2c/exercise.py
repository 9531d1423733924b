"""Actor and critic.

Task: fill in update(). The critic learns reward + gamma · V(next), nothing after the end; the actor is trained with the
advantage, which is a constant for it. One optimizer steps both: add the losses. It is solved when whygrad finds nothing,
values are right one step ahead (WG903) and the action is chosen by what is seen (WG905).
"""

import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor, self.critic = network(2, 2), network(2, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        target = ...  # TODO
        advantage = ...  # TODO
        log_prob = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        loss = ...  # TODO: the actor's and the critic's
        ...  # TODO: one step
