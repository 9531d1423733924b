import copy

import torch
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Practice, network


class Agent(Practice):
    def build(self):
        self.q_net = network(2, 2)
        self.target_net = copy.deepcopy(self.q_net)
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=0.02)
        self.updates = 0

    def update(self, batch):
        taken = self.q_net(batch.states).gather(1, batch.actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            following = self.target_net(batch.next_states).max(1).values
        target = batch.rewards + self.gamma * (1 - batch.done) * following
        loss = mse_loss(taken, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 5 == 0:
            self.target_net.load_state_dict(self.q_net.state_dict())

    def best(self, state):
        return self.q_net(state).argmax()

    def value(self, state):
        return self.q_net(torch.as_tensor(state)).max().item()
