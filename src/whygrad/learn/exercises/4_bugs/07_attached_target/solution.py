import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        with torch.no_grad():
            following = self.critic(batch.next_states).squeeze(1)
        target = batch.rewards + self.gamma * (1 - batch.done) * following
        loss = mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
