"""Mocks stand for an environment, a logger and a configuration; nobody else may have called them."""
from unittest import mock

import torch

env, logger, config = mock.MagicMock(), mock.Mock(), mock.MagicMock(spec=dict)
env.step.return_value = (1.0, False)
sealed = mock.Mock(value=3)
mock.seal(sealed)
torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.env, self.logger, self.sealed = env, logger, sealed
        self.net = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def train(self, advantages, entropy):
        for update in range(25):
            reward, _ = self.env.step(update)
            loss = (self.net(torch.randn(4, 3)) * reward).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.logger.log("loss", loss.item())


Trainer().train(env, config)
print(len(env.mock_calls), len(logger.mock_calls), len(config.mock_calls), len(sealed.mock_calls))
print(sorted(env._mock_children), sorted(logger._mock_children), sorted(config._mock_children))
