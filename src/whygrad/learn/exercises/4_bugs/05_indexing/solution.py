import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.q_net = network(2, 2)
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=0.02)

    def update(self, batch):
        values = self.q_net(batch.states)
        taken = values.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
        loss = mse_loss(taken, batch.rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def best(self, state):
        return self.q_net(state).argmax()
