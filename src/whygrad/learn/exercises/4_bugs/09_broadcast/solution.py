import torch

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.critic = network(2, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.02)

    def update(self, batch):
        values = self.critic(batch.states).squeeze(1)
        loss = (values - batch.rewards).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
