"""Layers that warn, and log, in the name of whoever called them several frames up; so does a network's train()."""

import logging
import sys
import warnings

import torch

logging.basicConfig(format="%(filename)s:%(lineno)d %(funcName)s: %(message)s", stream=sys.stdout, level=logging.INFO)


class Deprecated(torch.nn.Linear):
    def forward(self, given):
        warnings.warn("use the other layer", DeprecationWarning, stacklevel=4)
        logging.info("called", stacklevel=4)
        return super().forward(given)

    def train(self, mode=True):
        warnings.warn("the mode changes", UserWarning, stacklevel=2)
        logging.info("now %s", mode, stacklevel=2)
        return super().train(mode)


torch.manual_seed(4)
layer = Deprecated(3, 2)
whole = torch.nn.Sequential(layer, torch.nn.ReLU())
optimizer = torch.optim.Adam(whole.parameters())
for update in range(7):
    loss = whole(torch.randn(5, 3)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    whole.eval()
    whole.train()
print(sum(parameter.sum().item() for parameter in whole.parameters()))
