"""Loads batches in worker processes, with a worker's seed and a collate function of its own."""
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((3,), float(index)) + torch.rand(1), torch.utils.data.get_worker_info().id


def gather(rows):
    return torch.stack([row for row, _ in rows]).requires_grad_(False), [worker for _, worker in rows]


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
loader = DataLoader(Rows(), 4, shuffle=True, num_workers=1, collate_fn=gather, multiprocessing_context="fork")
for epoch in range(2):
    for rows, workers in loader:
        loss = net(rows).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, workers, loss.item())
