import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)

DT = 0.1
A = np.array([[1.0, DT], [0.0, 0.96]], dtype=np.float32)
B = np.array([0.0, DT], dtype=np.float32)


class Cart:
    """Double integrator with friction and a soft track edge."""

    def __init__(self, batch, seed):
        self.rng = np.random.default_rng(seed)
        self.batch = batch

    def reset(self):
        return torch.from_numpy(self.rng.uniform(-1, 1, (self.batch, 2)).astype(np.float32))

    def step(self, state, force):
        nxt = state @ torch.from_numpy(A).T + force * torch.from_numpy(B)
        edge = torch.tanh(nxt[:, :1] / 2.0) * 2.0
        return torch.cat([edge, nxt[:, 1:]], dim=1)


class Controller(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, state):
        return 2.0 * torch.tanh(self.net(state))


def rollout(plant, controller, horizon):
    state = plant.reset()
    tracking, effort = [], []
    for _ in range(horizon):
        force = controller(state)
        state = plant.step(state, force)
        tracking.append(state[:, 0].pow(2) + 0.1 * state[:, 1].pow(2))
        effort.append(force.squeeze(1).pow(2))
    return torch.stack(tracking), torch.stack(effort)


def main(updates=120, horizon=20, effort_weight=0.01):
    torch.manual_seed(0)
    plant = Cart(batch=32, seed=0)
    controller = Controller()
    optim = torch.optim.Adam(controller.parameters(), lr=3e-3)
    for k in range(updates):
        tracking, effort = rollout(plant, controller, horizon)
        cost = tracking.mean() + effort_weight * effort.mean()
        optim.zero_grad(set_to_none=True)
        cost.backward()
        optim.step()
        if k % 20 == 0:
            print(f"{k:4d}  tracking {tracking.mean().item():.4f}  effort {effort.mean().item():.4f}")


if __name__ == "__main__":
    main()
