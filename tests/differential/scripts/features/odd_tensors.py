"""Trains with sparse gradients, complex and half-precision parameters, nested and quantised tensors."""
import torch

torch.manual_seed(0)
table = torch.nn.Embedding(10, 3, sparse=True)
sparse = torch.optim.SparseAdam(table.parameters(), lr=0.1)
wave = torch.nn.Parameter(torch.randn(3, dtype=torch.complex64))
half = torch.nn.Linear(3, 1, dtype=torch.bfloat16)
dense = torch.optim.SGD([wave, *half.parameters()], lr=0.01)
for update in range(8):
    rows = torch.randint(0, 10, (4,))
    loss = table(rows).pow(2).mean() + (wave * 1j).abs().sum() + half(torch.ones(3, dtype=torch.bfloat16)).float().sum()
    for optimizer in (sparse, dense):
        optimizer.zero_grad()
    loss.backward()
    print(update, loss.item(), table.weight.grad.coalesce().indices().flatten().tolist())
    torch.nn.utils.clip_grad_norm_([wave], 1.0)
    for optimizer in (sparse, dense):
        optimizer.step()
print(table.weight.sum().item(), torch.view_as_real(wave).detach().flatten().tolist())
parts = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], requires_grad=True, layout=torch.jagged)
(torch.nn.functional.linear(parts, torch.ones(2, 3)) * 2).values().sum().backward()
print([row.sum().item() for row in parts.grad.unbind()])
old = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
torch.nested.to_padded_tensor(old * 3, 0.0).sum().backward()
print([row.tolist() for row in old.grad.unbind()])
print(torch.quantize_per_tensor(torch.arange(3.0), 0.5, 0, torch.qint8).int_repr().tolist())
csr = torch.eye(3).to_sparse_csr()
print((csr @ torch.ones(3, 1)).flatten().tolist(), torch.sparse.mm(csr, torch.ones(3, 2)).sum().item())
