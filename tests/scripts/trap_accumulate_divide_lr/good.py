import copy

import torch
from torch import nn

torch.set_num_threads(1)
BASE_LR, BATCH, MICRO_BATCHES = 0.1, 96, 4


def logged(n=1500, seed=1):
    g = torch.Generator().manual_seed(seed)
    s = torch.rand(n, 3, generator=g) * 2 - 1
    a = torch.randint(0, 4, (n,), generator=g)
    push = torch.tensor([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]).float()[a]
    s2 = (s + 0.2 * push).clamp(-1, 1)
    r = 0.5 - s2[:, :2].pow(2).sum(1) * 0.5 + 0.1 * s2[:, 2]
    return s, a, r, s2


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 40), nn.Tanh(), nn.Linear(40, 4))

    def forward(self, s):
        return self.net(s)


def td_loss(q, target_q, s, a, r, s2, gamma=0.8):
    with torch.no_grad():
        y = r + gamma * target_q(s2).amax(1)
    return (q(s).gather(1, a[:, None]).squeeze(1) - y).pow(2).mean()


def main(updates=120):
    torch.manual_seed(1)
    data, q = logged(), Q()
    target_q = copy.deepcopy(q).requires_grad_(False)
    # summed gradients of MICRO_BATCHES mean losses, hence the smaller step
    sgd = torch.optim.SGD(q.parameters(), lr=BASE_LR / MICRO_BATCHES)
    for u in range(updates):
        batch = torch.randint(len(data[2]), (BATCH,))
        total = 0.0
        for part in batch.chunk(MICRO_BATCHES):
            loss = td_loss(q, target_q, *(col[part] for col in data))
            loss.backward()
            total += loss.item()
        sgd.step()
        sgd.zero_grad()
        if u % 10 == 9:
            target_q.load_state_dict(q.state_dict())
        if u % 30 == 0:
            print(f"update {u} loss {total / MICRO_BATCHES:.4f}")


if __name__ == "__main__":
    main()
