import torch


class ContextBandit:
    def __init__(self, n=32):
        self.n = n
        self.w = torch.tensor([[1.0, 0, 0, 0.5], [0, 1.0, 0, -0.5], [0, 0, 1.0, 0.0]])

    def contexts(self):
        return torch.randn(self.n, 4)

    def reward(self, ctx, arm):
        return (ctx @ self.w.t()).gather(1, arm[:, None]).squeeze(1) + 0.1 * torch.randn(self.n)
