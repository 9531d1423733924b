"""REINFORCE.

Task: fill in returns() and update(). A batch holds steps in order; done is 1 where an episode ends, and a return does not
reach over that. The loss is minus the mean of log-probability times return. It is solved when whygrad finds nothing and
the better action is taken, everywhere (WG904) and by what is seen (WG905).
"""

import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor = network(2, 2)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.02)

    def returns(self, batch):
        ...  # TODO: what is still to come at each step, (N,)

    def update(self, batch):
        log_prob = ...  # TODO
        loss = ...  # TODO
        ...  # TODO: one step
