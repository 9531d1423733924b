"""Find the bug: every state has the same value.

The critic should tell left from right and says 0 for both. Nothing raises.

Task: look at the shapes (TODO), so that whygrad finds nothing and the values are learnt.
"""

import torch

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        values = self.critic(batch.states)
        loss = (values - batch.rewards).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
