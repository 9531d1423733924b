import torch
from torch import nn

torch.set_num_threads(1)
ROWS, PER_PASS = 32, 4


class Values:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
        self.sgd = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def loss(self, data):
        return (self.net(data["state"]).squeeze(1) - data["return"]).pow(2).mean()

    def fit(self, data):
        passes, shown = ROWS // PER_PASS, 0.0
        for first in range(0, len(data["state"]), ROWS):
            self.sgd.zero_grad()
            for start in range(first, first + ROWS, PER_PASS):
                loss = self.loss({key: column[start : start + PER_PASS] for key, column in data.items()})
                (loss / passes).backward()
                shown += loss.item() / passes
            self.sgd.step()
        return shown


def main():
    torch.manual_seed(3)
    values = Values()
    for epoch in range(6):
        state = torch.randn(2 * ROWS, 5)
        shown = values.fit({"state": state, "return": state.sum(1).sin()})
        print(f"epoch {epoch} loss {shown:.4f}")


if __name__ == "__main__":
    main()
