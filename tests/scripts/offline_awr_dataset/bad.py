import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


def make_dataset(n=3000, seed=0):
    """Logged decisions of a noisy heuristic on a pricing problem."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(n, 5)).astype(np.float32)
    mean = (0.5 * obs[:, :1]).astype(np.float32)
    act = mean + 0.7 * rng.normal(size=(n, 1)).astype(np.float32)
    logp = -0.5 * ((act - mean) / 0.7) ** 2 - np.log(0.7 * np.sqrt(2 * np.pi))
    best = np.tanh(obs[:, 1:2] + obs[:, 2:3])
    ret = -np.square(act - best) + 0.1 * rng.normal(size=(n, 1))
    return {
        "obs": torch.from_numpy(obs),
        "act": torch.from_numpy(act.astype(np.float32)),
        "logp": torch.from_numpy(logp.astype(np.float32)),
        "ret": torch.from_numpy(ret.astype(np.float32)),
    }


class LogBatcher:
    def __init__(self, data, size):
        self.data, self.size = data, size
        self.n = len(data["obs"])

    def __iter__(self):
        for idx in torch.randperm(self.n).split(self.size):
            yield {k: v[idx] for k, v in self.data.items()}


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, obs):
        return torch.distributions.Normal(self.mu(obs), self.log_std.exp())

    def log_prob(self, obs, act):
        return self.dist(obs).log_prob(act)


def awr_weights(ret, temperature=0.5, cap=10.0):
    adv = ret - ret.mean()
    return torch.exp(adv / temperature).clamp(max=cap)


def policy_loss(policy, batch):
    w = awr_weights(batch["ret"])
    return -(w * batch["logp"]).mean()  # <- culprit


@torch.no_grad()
def score(policy):
    obs = torch.randn(500, 5)
    best = torch.tanh(obs[:, 1:2] + obs[:, 2:3])
    return -(policy.mu(obs) - best).pow(2).mean().item()


def main():
    torch.manual_seed(0)
    policy = GaussianPolicy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3, weight_decay=1e-4)
    loader = LogBatcher(make_dataset(), 128)
    for epoch in range(8):
        for batch in loader:
            loss = policy_loss(policy, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f} score {score(policy):.4f}")


if __name__ == "__main__":
    main()
