"""Find the bug: two devices.

Samples are weighted, and the weights are made on another device than the network: "meta" here, which is there without a
GPU; on yours it would be "cuda". It stops at the first update.

Task: make the weights where the values are (TODO), whatever device that is.
"""

import torch

from whygrad.learn.practice import Practice, network

OTHER = torch.device("meta")


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        values = self.critic(batch.states).squeeze(1)
        weights = torch.full((len(values),), 0.5, device=OTHER)
        loss = (weights * (values - batch.rewards) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
