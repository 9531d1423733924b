import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.policy = network(2, 2)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=0.02)

    def update(self, batch):
        new = Categorical(logits=self.policy(batch.states)).log_prob(batch.actions)
        ratio = torch.exp(new - new.detach())
        weighted = ratio * batch.rewards
        loss = -weighted.mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def choose(self, state):
        return self.drawn(self.policy(state))

    def best(self, state):
        return self.policy(state).argmax()
