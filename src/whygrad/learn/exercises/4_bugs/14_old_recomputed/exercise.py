"""Find the bug: a PPO that never clips.

Four epochs on the same data, and the ratio is 1 in every one of them: the limit of ±0.2 never takes hold.

Task: put the old log-probabilities where they belong (TODO), so that whygrad finds nothing and the better action is
learnt.
"""

import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor = network(2, 2)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.02)

    def log_prob(self, batch):
        return Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)

    def update(self, batch):
        for _ in range(4):
            old = self.log_prob(batch).detach()
            ratio = torch.exp(self.log_prob(batch) - old)
            loss = -torch.minimum(ratio * batch.rewards, ratio.clamp(0.8, 1.2) * batch.rewards).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
