import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor = network(2, 2)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.02)

    def update(self, batch):
        new = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        ratio = torch.exp(new - new.detach())
        weighted = ratio * batch.rewards
        loss = -weighted.mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
