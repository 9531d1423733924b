import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor = network(2, 2)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.02)

    def returns(self, batch):
        out, following = [], 0.0
        for reward, done in zip(batch.rewards.flip(0), batch.done.flip(0), strict=True):
            following = reward + self.gamma * (1 - done) * following
            out.append(following)
        return torch.stack(out[::-1])

    def update(self, batch):
        log_prob = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        loss = -(log_prob * self.returns(batch)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
