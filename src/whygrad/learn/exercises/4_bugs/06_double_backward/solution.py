import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.net = network(2, 3)  # two logits and a value
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.02)

    def update(self, batch):
        output = self.net(batch.states)
        logits, value = output[:, :2], output[:, 2]
        advantage = batch.rewards - value.detach()
        policy_loss = -(Categorical(logits=logits).log_prob(batch.actions) * advantage).mean()
        value_loss = mse_loss(value, batch.rewards)
        self.optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        self.optimizer.step()

    def value(self, state):
        with torch.no_grad():
            return self.net(torch.as_tensor(state))[2].item()
