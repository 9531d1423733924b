import torch
from torch import nn

torch.set_num_threads(1)
PARTS = 4


def main():
    torch.manual_seed(4)
    critic = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1))
    sgd = torch.optim.SGD(critic.parameters(), lr=0.1, momentum=0.9)
    for update in range(10):
        state = torch.randn(32, 3)
        value = 3 * state.prod(1, keepdim=True)
        sgd.zero_grad()
        for s, v in zip(state.chunk(PARTS), value.chunk(PARTS), strict=True):
            loss = (critic(s) - v).pow(2).mean() / PARTS
            loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 0.05)  # <- culprit
        sgd.step()
        if update % 3 == 0:
            print(f"update {update} loss {loss.item() * PARTS:.4f}")


if __name__ == "__main__":
    main()
