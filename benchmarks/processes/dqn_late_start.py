"""A small DQN that acts for a long time before it learns: `--starts` steps, then `--updates` updates."""

import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))

    def forward(self, x):
        return self.network(x)


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    rng = np.random.default_rng(1)
    q_network, target_network = QNetwork(), QNetwork()
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
    size = 10_000
    states, following = np.zeros((size, 4), np.float32), np.zeros((size, 4), np.float32)
    taken, earned = np.zeros(size, np.int64), np.zeros(size, np.float32)
    obs = rng.standard_normal(4).astype(np.float32)
    for step in range(args.starts + args.updates):
        if random.random() < 0.05:
            action = random.randrange(2)
        else:
            q_values = q_network(torch.Tensor(obs).unsqueeze(0))
            action = torch.argmax(q_values, dim=1).item()
        next_obs = rng.standard_normal(4).astype(np.float32)
        place = step % size
        states[place], following[place], taken[place], earned[place] = obs, next_obs, action, float(obs[action] > 0)
        obs = next_obs
        if step < args.starts:
            continue
        rows = rng.integers(0, min(step, size), 128)
        with torch.no_grad():
            target_max, _ = target_network(torch.as_tensor(following[rows])).max(dim=1)
            td_target = torch.as_tensor(earned[rows]) + 0.99 * target_max
        old = q_network(torch.as_tensor(states[rows])).gather(1, torch.as_tensor(taken[rows]).unsqueeze(1)).squeeze()
        loss = F.mse_loss(td_target, old)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            for slow, fast in zip(target_network.parameters(), q_network.parameters(), strict=True):
                slow.data.copy_(fast.data)
    print("weights", sum(p.double().sum().item() for p in q_network.parameters()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=60_000)
    parser.add_argument("--updates", type=int, default=300)
    main(parser.parse_args())
