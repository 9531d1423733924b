"""Differentially private preference model (Bradley-Terry) by explicit per-example clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)
torch.set_num_threads(1)
CLIP, NOISE, BATCH = 1.0, 0.3, 12
reward_model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.SGD(reward_model.parameters(), lr=0.5)
w_true = torch.randn(6)
A, Bseg = torch.randn(600, 6), torch.randn(600, 6)
prefer_a = (torch.sigmoid(3 * ((A - Bseg) @ w_true)) > torch.rand(600)).float()


def pair_loss(i):
    gap = reward_model(A[i]) - reward_model(Bseg[i])
    return F.binary_cross_entropy_with_logits(gap, prefer_a[i : i + 1])


def accuracy():
    with torch.no_grad():
        a, b = torch.randn(1000, 6), torch.randn(1000, 6)
        pred = (reward_model(a) > reward_model(b)).squeeze(1)
        return (pred == ((a - b) @ w_true > 0)).float().mean().item()


print("accuracy before %.3f" % accuracy())
params = list(reward_model.parameters())
for it in range(60):
    summed = [torch.zeros_like(p) for p in params]
    for i in torch.randint(600, (BATCH,)).tolist():
        opt.zero_grad()
        pair_loss(i).backward()
        nn.utils.clip_grad_norm_(params, CLIP)
        for s, p in zip(summed, params):
            s += p.grad
    for s, p in zip(summed, params):
        p.grad = (s + NOISE * CLIP * torch.randn_like(s)) / BATCH
    opt.step()
print("accuracy after %.3f" % accuracy())
