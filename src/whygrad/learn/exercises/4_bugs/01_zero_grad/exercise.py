"""Find the bug: the curve jumps about.

The critic should learn that the left state pays -1 and the right one +1. It runs, and gets worse the longer it trains.

Task: find the line that is wrong or missing (TODO), so that whygrad finds nothing and the values are learnt.
`whygrad learn` shows under w what whygrad found.
"""

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        values = self.critic(batch.states).squeeze(1)
        loss = mse_loss(values, batch.rewards)
        loss.backward()
        self.optimizer.step()
