"""Keeps functions under names of its own, taken at different moments, and calls all of them to the end."""
import hashlib

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
kept = []


def take():
    kept.append((torch.nn.utils.clip_grad_norm_, torch.autograd.backward, torch.no_grad.__enter__,
                 torch.no_grad.__exit__, optimizer.zero_grad, net.train, torch.from_numpy, torch.autograd.grad))


for update in range(50):
    if update in (0, 2, 6, 19, 21):
        take()
    clip, backward, enter, leave, clear, train, _, grad = kept[update % len(kept)]
    train(update % 3 != 0)
    guard = torch.no_grad()
    enter(guard)
    goal = net(torch.ones(3)) + 1.0
    leave(guard, None, None, None)
    loss = (net(torch.randn(5, 3)) - goal).pow(2).mean()
    clear()
    (first,) = grad(loss, [net[0].bias], retain_graph=True)
    backward(loss)
    print(f"{update:2} {first.sum().item():.6f} {clip(net.parameters(), 0.3).item():.6f} {torch.is_grad_enabled()}")
    optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print(hashlib.sha256(weights).hexdigest()[:12])
