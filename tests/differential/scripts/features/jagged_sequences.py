"""Episodes of different lengths as jagged nested tensors: through layers, chosen from, clipped, in the loss itself."""

import logging

import torch

logging.disable(logging.WARNING)  # torch logs the time of day.
torch.manual_seed(3)
policy = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
for turn in range(10):
    episodes = [torch.randn(length, 2) for length in (1, 4, 2)]
    batch = torch.nested.as_nested_tensor(episodes, layout=torch.jagged)
    logits = policy(batch)
    scores = torch.nested.nested_tensor_from_jagged(logits.values().log_softmax(-1), logits.offsets())
    chosen = scores.values().argmax(-1, keepdim=True)
    loss = -scores.values().gather(1, chosen).mean() + 0.01 * (logits * logits).values().clamp(-2, 2).sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    optimizer.step()
    lengths = [part.shape[0] for part in logits.detach().unbind()]
print(lengths, loss)

# Sums over the whole batch, and a loss that is made of nested tensors only.
for turn in range(4):
    batch = torch.nested.nested_tensor([torch.randn(3, 2), torch.randn(1, 2)], layout=torch.jagged)
    out = torch.nested.to_padded_tensor(policy(batch).sin() * 2, 0.0)
    optimizer.zero_grad()
    (out.square().mean() + out.abs().sum()).backward()
    optimizer.step()
print(*policy.parameters())
