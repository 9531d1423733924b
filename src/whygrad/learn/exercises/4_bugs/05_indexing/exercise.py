"""Find the bug: values picked by hand.

The Q-values of the taken actions are collected in a list. Nothing is learnt.

Task: find the line that drops the graph (TODO), so that whygrad finds nothing and the better action is learnt.
"""

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.q_net = network(2, 2)
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=0.02)

    def update(self, batch):
        values = self.q_net(batch.states)
        taken = torch.tensor([values[i, a] for i, a in enumerate(batch.actions)], requires_grad=True)
        loss = mse_loss(taken, batch.rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def best(self, state):
        return self.q_net(state).argmax()
