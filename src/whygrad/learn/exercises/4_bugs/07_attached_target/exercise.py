"""Find the bug: the target comes to meet the prediction.

The critic should learn a reward that comes one step later: -1 or +1 at the end, gamma times that before. It has no target
network; that is not the bug.

Task: find the line that carries gradient and should not (TODO), so that whygrad finds nothing and the values are learnt.
"""

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        following = self.critic(batch.next_states).squeeze(1)
        target = batch.rewards + self.gamma * (1 - batch.done) * following
        loss = mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
