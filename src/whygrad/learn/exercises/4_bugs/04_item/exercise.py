"""Find the bug: a loss that falls from nowhere.

backward() runs, the optimizer steps, and the values stay what they were.

Task: find the line that turned the loss into a number (TODO), so that whygrad finds nothing and the values are learnt.
"""

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)
        self.history = []

    def update(self, batch):
        values = self.critic(batch.states).squeeze(1)
        loss = mse_loss(values, batch.rewards).item()
        self.history.append(loss)
        loss = torch.tensor(loss, requires_grad=True)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
