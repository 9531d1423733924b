"""CartPole.

Task: the agent of 5_agents/05_ppo, on a real problem: keep the pole up. Write update() yourself, with any algorithm that
learns from the batch of 256 steps it gets (PPO with 8 epochs is a good choice). The networks are there. After 7,680 steps
the greedy policy should keep the pole up for at least 60 steps on average; a random one manages about 22.
"""

import torch
from torch.distributions import Categorical
from torch.nn.functional import mse_loss

from whygrad.learn.practice import Acting, network


class Agent(Acting):
    batch = 256

    def build(self):
        self.actor, self.critic = network(4, 2), network(4, 1)
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=0.01)

    def update(self, batch):
        ...  # TODO
