import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(12)

# Every step a cheap sensor gives a hint; the agent may pay for the exact reading.
# Paying is worth it only when the hint is ambiguous.
COST = 0.3


def make_batch(n):
    truth = torch.randint(0, 2, (n,)).float() * 2 - 1
    noise = torch.rand(n) * 2
    hint = truth + noise * torch.randn(n)
    return torch.stack([hint, noise, hint.abs()], dim=1), truth


def outcome(x, truth, pay):
    guess = torch.where(pay.bool(), truth, torch.sign(x[:, 0]))
    return (guess == truth).float() - COST * pay


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc2(torch.tanh(self.fc1(x)))).squeeze(1)


gate = Gate()
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(list(gate.parameters()) + list(critic.parameters()), lr=4e-3)

for epoch in range(60):
    x, truth = make_batch(128)
    probs = gate(x)
    pay = torch.bernoulli(probs.detach())
    reward = outcome(x, truth, pay)

    value = critic(x).squeeze(1)
    value_loss = F.mse_loss(value, reward)
    adv = reward - value.detach()

    on = (probs > 0.5).float()  # <- culprit
    agree = on * pay + (1 - on) * (1 - pay)
    gate_loss = -(torch.log(agree.clamp(min=1e-3)) * adv).mean()

    loss = gate_loss + value_loss
    opt.zero_grad()
    loss.backward()
    opt.step()

    if epoch % 12 == 0:
        print(f"epoch {epoch:2d}  reward {reward.mean():.3f}  pays {pay.mean():.2f}", end="  ")
        print(f"gate {gate_loss.item():+.3f}  value {value_loss.item():.3f}")
