"""DQN in float16, rewards of ordinary size."""
import copy

import torch
from torch import nn

torch.manual_seed(3)
q_net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")

for update in range(40):
    obs, next_obs = torch.randn(32, 6), torch.randn(32, 6)
    action, reward = torch.randint(0, 3, (32, 1)), torch.randn(32, 1)
    with torch.no_grad():
        goal = reward + 0.99 * target_net(next_obs).max(1, keepdim=True).values
    with torch.autocast("cpu", dtype=torch.float16):
        value = q_net(obs).gather(1, action)
    loss = (value.float() - goal).pow(2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    with torch.no_grad():
        for slow, fast in zip(target_net.parameters(), q_net.parameters()):
            slow.lerp_(fast, 0.05)
