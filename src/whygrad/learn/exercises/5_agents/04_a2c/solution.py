import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    def build(self):
        self.actor, self.critic = network(2, 2), network(2, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        with torch.no_grad():
            target = batch.rewards + self.gamma * (1 - batch.done) * self.critic(batch.next_states).squeeze(1)
        advantage = target - value.detach()
        log_prob = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        loss = -(log_prob * advantage).mean() + mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
