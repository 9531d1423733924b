import torch
from torch import nn
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice


class Agent(Practice):
    def build(self):
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        values = self.critic(batch.states).squeeze(1)
        loss = mse_loss(values, batch.rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
