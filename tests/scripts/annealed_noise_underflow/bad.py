import torch
import torch.nn as nn
from torch.distributions import Normal

Normal.set_default_validate_args(False)


class Drone(nn.Module):
    def __init__(self):
        super().__init__()
        self.pilot = nn.Sequential(nn.Linear(4, 64), nn.ELU(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.ELU(), nn.Linear(64, 1))
        self.register_buffer("log_std", torch.full((2,), -0.5))

    def distribution(self, obs):
        mean = self.pilot(obs)
        return Normal(mean, torch.exp(self.log_std).expand_as(mean))

    def cool(self, rate):
        self.log_std = self.log_std * rate


def scores(drone, obs, actions):
    return drone.distribution(obs).log_prob(actions).sum(dim=-1)  # <- culprit


@torch.no_grad()
def fly(drone, n=32, length=12):
    speed, wanted = torch.zeros(n, 2), torch.rand(n, 2) * 2 - 1
    rows = []
    for _ in range(length):
        obs = torch.cat([speed, wanted], 1)
        action = drone.distribution(obs).sample()
        speed = 0.7 * speed + 0.3 * action
        rows.append((obs, action, torch.exp(-4 * (speed - wanted).pow(2).sum(1)) - 0.01 * action.pow(2).sum(1)))
    result, returns = drone.critic(torch.cat([speed, wanted], 1)).squeeze(-1), []
    for _, _, reward in reversed(rows):
        result = reward + 0.8 * result
        returns.insert(0, result)
    obs, actions, _ = (torch.cat(column) for column in zip(*rows))
    return obs, actions, torch.cat(returns)


torch.manual_seed(1)
drone = Drone()
optimizer = torch.optim.Adam(drone.parameters(), lr=5e-3)
for _ in range(75):
    obs, actions, returns = fly(drone)
    values = drone.critic(obs).squeeze(-1)
    advantages = (returns - values).detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    loss = -(advantages * scores(drone, obs, actions)).mean() + (values - returns).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(drone.parameters(), 10.0)
    optimizer.step()
    drone.cool(1.1)
