"""Find the bug: backward complains about an in-place operation.

The policy should learn which action pays. It stops at the first update.

Task: repair the line that changes a value which backward still needs (TODO), so that whygrad finds nothing and the policy
is learnt. The line that raises is not the line that is wrong.
"""

import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor = network(2, 2)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.02)

    def update(self, batch):
        new = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        ratio = torch.exp(new - new.detach())
        ratio *= batch.rewards
        loss = -ratio.mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
