import torch
from torch.distributions import Categorical

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.policy = network(2, 2)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=0.02)

    def log_prob(self, batch):
        return Categorical(logits=self.policy(batch.states)).log_prob(batch.actions)

    def update(self, batch):
        old = self.log_prob(batch).detach()
        for _ in range(4):
            ratio = torch.exp(self.log_prob(batch) - old)
            loss = -torch.minimum(ratio * batch.rewards, ratio.clamp(0.8, 1.2) * batch.rewards).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def choose(self, state):
        return self.drawn(self.policy(state))

    def best(self, state):
        return self.policy(state).argmax()
