"""Find the bug: a memory that remembers everything.

A recurrent critic carries its state from update to update. PyTorch complained once, and somebody added
retain_graph=True. Every update is slower than the one before.

Task: cut the past off where one update ends and the next begins (TODO), so that whygrad finds nothing and the values are
learnt.
"""

import torch
from torch import nn
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice


class Agent(Practice):
    def build(self):
        self.cell = nn.GRUCell(2, 16)
        self.head = nn.Linear(16, 1)
        self.hidden = torch.zeros(16, 16)
        self.optimizer = torch.optim.Adam([*self.cell.parameters(), *self.head.parameters()], lr=0.02)

    def update(self, batch):
        self.hidden = self.cell(batch.states, self.hidden)
        values = self.head(self.hidden).squeeze(1)
        loss = mse_loss(values, batch.rewards)
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()

    def value(self, state):
        with torch.no_grad():
            seen = torch.as_tensor(state).expand(16, 2)
            return self.head(self.cell(seen, self.hidden)).mean().item()
