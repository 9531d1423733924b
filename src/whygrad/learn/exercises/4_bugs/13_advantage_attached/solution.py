import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.actor, self.critic = network(2, 2), network(2, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.02)

    def update(self, batch):
        value = self.critic(batch.states).squeeze(1)
        advantage = batch.rewards - value.detach()
        log_prob = Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)
        loss = -(log_prob * advantage).mean() + 0.5 * mse_loss(value, batch.rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
