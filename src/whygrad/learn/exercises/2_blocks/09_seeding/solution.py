import numpy as np
import torch


def run(seed):
    torch.manual_seed(seed)
    np.random.seed(seed)
    weights = torch.randn(3)
    noise = np.random.normal(size=3)
    return weights.tolist(), noise.tolist()
