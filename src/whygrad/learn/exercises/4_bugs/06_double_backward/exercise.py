"""Find the bug: backward through the graph a second time.

Policy and value share one network. The value's loss goes back first, then the sum of both. It stops at the first update;
retain_graph=True would silence that and count the value's gradient twice.

Task: go back once (TODO), so that both are trained and the value is learnt.
"""

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
        value_loss.backward()
        (policy_loss + value_loss).backward()
        self.optimizer.step()

    def value(self, state):
        with torch.no_grad():
            return self.net(torch.as_tensor(state))[2].item()
