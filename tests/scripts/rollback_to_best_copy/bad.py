import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(30)
rng = np.random.default_rng(30)

N_TASKS, N_ARMS = 6, 4
payout = rng.uniform(0, 1, size=(N_TASKS, N_ARMS))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(N_TASKS, 16)
        self.head = nn.Sequential(nn.Tanh(), nn.Linear(16, N_ARMS))

    def forward(self, task):
        return torch.distributions.Categorical(logits=self.head(self.table(task)))


def pull(task, arm):
    return torch.from_numpy(payout[task.numpy(), arm.numpy()] + 0.1 * rng.normal(size=len(task))).float()


def score(policy):
    tasks = torch.arange(N_TASKS)
    with torch.no_grad():
        probs = policy(tasks).probs
    return float((probs * torch.from_numpy(payout).float()).sum(1).mean())


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-2)  # <- culprit
best, best_score = copy.deepcopy(policy), -1.0
baseline = 0.5
RESTART_EVERY = 10

for update in range(50):
    tasks = torch.from_numpy(rng.integers(0, N_TASKS, 48))
    dist = policy(tasks)
    arms = dist.sample()
    reward = pull(tasks, arms)
    loss = -(dist.log_prob(arms) * (reward - baseline)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()

    now = score(policy)
    if now > best_score:
        best_score = now
        best.load_state_dict(policy.state_dict())
    if update % RESTART_EVERY == RESTART_EVERY - 1:
        # continue from the best policy so far
        policy = copy.deepcopy(best)  # <- culprit
        print(f"update {update + 1:2d}  score {now:.4f}  best {best_score:.4f}  loss {loss.item():+.4f}")
