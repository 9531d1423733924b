import torch
import torch.nn as nn

torch.set_num_threads(1)


class Garage:
    """Keeps the weights elsewhere while the simulator needs the memory."""

    def __init__(self, module):
        self.module = module

    def park(self):
        self.parked = {name: p.detach().clone() for name, p in self.module.named_parameters()}

    def fetch(self):
        for path, part in self.module.named_modules():
            for key in list(part._parameters):
                value = self.parked[f"{path}.{key}"]
                setattr(part, key, nn.Parameter(value))  # <- culprit


def simulate(policy, n=64):
    obs = torch.randn(n, 3)
    with torch.no_grad():
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
    reward = (action == obs.argmax(1)).float()
    return obs, action, dist.log_prob(action), reward


def main():
    torch.manual_seed(1)
    policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)  # <- culprit
    garage = Garage(policy)
    for phase in range(30):
        obs, action, old, reward = simulate(policy)
        garage.park()
        garage.fetch()
        advantage = reward - reward.mean()
        log_prob = torch.log_softmax(policy(obs), -1).gather(1, action[:, None]).squeeze(1)
        ratio = (log_prob - old).exp()
        loss = -(ratio * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if phase % 10 == 9:
            print(f"phase {phase + 1} reward {reward.mean():.2f}")


if __name__ == "__main__":
    main()
