"""Rewards in the hundreds: the scaler overflows a few times, finds a factor that fits, and training goes on."""
import torch
from torch import nn

torch.manual_seed(5)
critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu")

for update in range(60):
    obs = torch.randn(32, 6)
    returns = 300.0 * obs.sum(1)
    with torch.autocast("cpu", dtype=torch.float16):
        value = critic(obs).squeeze(-1)
    loss = (value.float() - returns).pow(2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(critic.parameters(), 10.0)
    scaler.step(optimizer)
    scaler.update()
