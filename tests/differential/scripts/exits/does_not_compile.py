"""Cannot be compiled."""
# form: file folder stdin module
import torch

net = torch.nn.Linear(3, 1)
def broken(:
    pass
