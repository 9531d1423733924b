"""Has a small module of its own called torch, and none of the real one."""
import torch

print(torch.double(21), torch.__name__)
