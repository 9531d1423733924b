import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.retries = 0

    def logits(self, obs):
        try:
            return self.net(obs)
        except RuntimeError:  # float64 from numpy
            self.retries += 1
            return self.net(obs.float())

    def loss(self, obs, act, weight):
        dist = torch.distributions.Categorical(logits=self.logits(obs))
        return -(dist.log_prob(act) * weight).mean() - 0.01 * dist.entropy().mean()

    def update(self, obs, act, weight, budget):
        size = len(obs)
        while True:
            try:
                self.opt.zero_grad()
                for part in torch.arange(len(obs)).split(size):
                    if size > budget:
                        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
                    (self.loss(obs[part], act[part], weight[part]) * len(part) / len(obs)).backward()
                break
            except RuntimeError as err:
                if "out of memory" not in str(err):
                    raise
                size //= 2
        self.opt.step()
        return size


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    agent, baseline = Agent(), 0.0
    for it in range(30):
        raw = rng.normal(size=(32, 3))
        obs = torch.from_numpy(raw)
        with torch.no_grad():
            act = torch.distributions.Categorical(logits=agent.logits(obs)).sample()
        reward = torch.from_numpy(np.where((raw[:, 0] > 0) == act.numpy().astype(bool), 1.0, 0.0)).float()
        weight = reward - baseline
        baseline = 0.8 * baseline + 0.2 * reward.mean().item()
        size = agent.update(obs, act, weight, budget=32 if it % 4 else 16)
        if it % 8 == 0:
            print(f"it {it} reward {reward.mean():.3f} micro-batch {size} retries {agent.retries}")


if __name__ == "__main__":
    main()
