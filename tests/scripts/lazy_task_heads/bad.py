import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class MultiHeadPolicy(nn.Module):
    def __init__(self, obs_dim, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.trunk = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.heads = nn.ModuleDict()

    def head(self, task):
        if task.name not in self.heads:
            self.heads[task.name] = nn.Linear(self.hidden, task.n_actions)
        return self.heads[task.name]

    def forward(self, obs, task):
        return Categorical(logits=self.head(task)(self.trunk(obs)))


class Task:
    def __init__(self, name, n_actions, seed, obs_dim=5):
        self.name, self.n_actions = name, n_actions
        gen = torch.Generator().manual_seed(seed)
        self.table = torch.randn(obs_dim, n_actions, generator=gen)

    def sample(self, n):
        return torch.randn(n, self.table.shape[0])

    def reward(self, obs, act):
        best = (obs @ self.table).argmax(1)
        return (best == act).float()


class Trainer:
    def __init__(self, policy, lr=1e-2):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)  # <- culprit
        self.baseline = {}

    def update(self, task, n=128):
        obs = task.sample(n)
        dist = self.policy(obs, task)
        act = dist.sample()
        rew = task.reward(obs, act)
        b = self.baseline.get(task.name, 1.0 / task.n_actions)
        loss = -((rew - b) * dist.log_prob(act)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.baseline[task.name] = 0.9 * b + 0.1 * rew.mean().item()
        return rew.mean().item()


def main():
    torch.manual_seed(0)
    curriculum = [Task("sort", 3, seed=1), Task("stack", 4, seed=2), Task("pour", 3, seed=3)]
    policy = MultiHeadPolicy(obs_dim=5)
    trainer = Trainer(policy)
    for stage, task in enumerate(curriculum):
        seen = curriculum[:stage + 1]
        for it in range(90):
            current = task if it % 3 else seen[it // 3 % len(seen)]
            score = trainer.update(current)
            if it % 30 == 29:
                print(f"{task.name:6s} it {it + 1:3d} last success on {current.name}: {score:.2f}")
    with torch.no_grad():
        for task in curriculum:
            obs = task.sample(1000)
            acc = task.reward(obs, policy(obs, task).logits.argmax(1)).mean().item()
            print(f"final {task.name}: {acc:.2f}")


if __name__ == "__main__":
    main()
