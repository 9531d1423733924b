"""Find the bug: the wrong network has an optimizer.

There is a network and a copy of it that serves as target. The optimizer holds one of them.

Task: give the optimizer the network that the loss trains (TODO), so that whygrad finds nothing and the values are learnt.
"""

import copy

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.target_critic = copy.deepcopy(self.critic)
        self.optimizer = torch.optim.Adam(self.target_critic.parameters(), lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        with torch.no_grad():
            following = self.target_critic(batch.next_states).squeeze(1)
        target = batch.rewards + self.gamma * (1 - batch.done) * following
        loss = mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.target_critic.load_state_dict(self.critic.state_dict())
