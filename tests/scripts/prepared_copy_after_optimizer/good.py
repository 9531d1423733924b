import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Placement:
    """Puts models where they shall run."""

    def __init__(self, dtype=torch.float32):
        self.dtype = dtype

    def prepare(self, module):
        return copy.deepcopy(module).to(self.dtype)


class Trainer:
    def __init__(self, policy, lr=5e-3):
        placement = Placement()
        self.policy = placement.prepare(policy)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)

    def update(self, obs):
        dist = torch.distributions.Categorical(logits=self.policy(obs))
        action = dist.sample()
        reward = (action == (obs[:, 0] > 0).long()).float()
        loss = -(dist.log_prob(action) * (reward - reward.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)))
    for i in range(40):
        reward = trainer.update(torch.randn(32, 4))
        if i % 10 == 9:
            print(f"update {i + 1} reward {reward:.2f}")
