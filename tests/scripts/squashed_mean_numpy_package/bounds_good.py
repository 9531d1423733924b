"""Helpers shared by the environments and the agents."""
import numpy as np
import torch


def to_np(x):
    return x.detach().cpu().numpy() if torch.is_tensor(x) else np.asarray(x)


def scale_to_bounds(raw, low, high):
    """Map an unbounded vector into the box [low, high]."""
    low, high = torch.tensor(low), torch.tensor(high)
    squashed = torch.tanh(raw)
    return low + 0.5 * (squashed + 1.0) * (high - low)
