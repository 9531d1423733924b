"""DQN, second step: the agent.

Task: fill in update(), best() and value(). The value of the taken action moves towards reward + gamma · highest value that
target_net gives the next state, nothing after the end. Every fifth update target_net takes over the weights. It is
solved when whygrad finds nothing, a reward one step ahead is valued right (WG903) and the better action is taken (WG904).
"""

import copy

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.q_net = network(2, 2)
        self.target_net = copy.deepcopy(self.q_net)
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=0.02)
        self.updates = 0

    def update(self, batch):
        taken = ...  # TODO
        target = ...  # TODO
        loss = mse_loss(taken, target)
        ...  # TODO: one step
        self.updates += 1
        ...  # TODO: every fifth update, target_net follows

    def best(self, state):
        return ...  # TODO: the action with the highest value

    def value(self, state):
        return ...  # TODO: the highest value, a plain number
