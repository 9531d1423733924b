import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)


class Trainer:
    normalises_itself = True
    grad_accumulation = 4

    def __init__(self, model, states, actions):
        self.model, self.states, self.actions = model, states, actions
        self.sgd = torch.optim.SGD(model.parameters(), lr=0.05)

    def training_step(self):
        rows = torch.randint(0, len(self.states), (6,))
        if self.normalises_itself:
            loss = self.compute_loss(rows)
        else:
            loss = self.compute_loss(rows) / self.grad_accumulation
        loss.backward()
        return loss.item()

    def train(self, updates):
        for update in range(updates):
            total = sum(self.training_step() for _ in range(self.grad_accumulation))
            self.sgd.step()
            self.sgd.zero_grad()
            print(f"update {update} loss {total:.4f}")


class Cloning(Trainer):
    normalises_itself = False

    def compute_loss(self, rows):
        return F.cross_entropy(self.model(self.states[rows]), self.actions[rows])


if __name__ == "__main__":
    torch.manual_seed(1)
    states = torch.randn(90, 4)
    Cloning(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3)), states, states[:, :3].argmax(1)).train(8)
