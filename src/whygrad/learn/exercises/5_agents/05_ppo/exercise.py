"""PPO.

Task: fill in advantages() and update(). advantages() is GAE with lam = 0.9 over the steps of a batch, where done is 1
nothing follows (see 3_losses/07_gae; the value after the last step is that of its next state). update() does four epochs
with the clipped surrogate (1 ± 0.2); old log-probabilities, advantages and returns (advantage + value) are computed once,
without gradient. It is solved when whygrad finds nothing, values are right one step ahead (WG903) and the action is
chosen by what is seen (WG905).
"""

import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    batch = 32

    def build(self):
        self.actor, self.critic = network(2, 2), network(2, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.02)

    def log_prob(self, batch):
        return Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)

    def advantages(self, batch, lam=0.9):
        values = self.critic(batch.states).squeeze(1)
        following = self.critic(batch.next_states).squeeze(1)
        ...  # TODO: (N,)

    def update(self, batch):
        ...  # TODO: old log-probabilities, advantages and returns, once
        for _ in range(4):
            loss = ...  # TODO: clipped surrogate and critic's loss
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
