import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    batch = 256

    def build(self):
        self.actor, self.critic = network(4, 2), network(4, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.01)

    def log_prob(self, batch):
        return Categorical(logits=self.actor(batch.states)).log_prob(batch.actions)

    def advantages(self, batch, lam=0.95):
        values = self.critic(batch.states).squeeze(1)
        following = self.critic(batch.next_states).squeeze(1)
        errors = (batch.rewards + self.gamma * (1 - batch.done) * following - values).tolist()
        kept, last = (self.gamma * lam * (1 - batch.done)).tolist(), 0.0
        for t in reversed(range(len(errors))):
            last = errors[t] = errors[t] + kept[t] * last
        return torch.tensor(errors)

    def update(self, batch):
        with torch.no_grad():
            old = self.log_prob(batch)
            advantages = self.advantages(batch)
            returns = advantages + self.critic(batch.states).squeeze(1)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
        for _ in range(8):
            ratio = torch.exp(self.log_prob(batch) - old)
            surrogate = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = 0.05 * mse_loss(self.critic(batch.states).squeeze(1), returns) - surrogate.mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
