import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
rng = np.random.default_rng(8)
torch.manual_seed(8)

N_FEATURES, N_ITEMS, K = 6, 5, 4

# a recommender: users have hidden tastes, the agent shows one item and sees a rating
tastes = rng.normal(size=(N_FEATURES, N_ITEMS))


def sample_users(n):
    return rng.normal(size=(n, N_FEATURES)).astype(np.float32)


def rate(user, item):
    score = float(user @ tastes[:, item])
    return 1.0 / (1.0 + np.exp(-score)) + 0.05 * rng.normal()


policy = nn.Sequential(
    nn.Linear(N_FEATURES, 32),
    nn.ReLU(),
    nn.Linear(32, N_ITEMS),
)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
beta = 0.01

for it in range(40):
    users = sample_users(10)
    log_probs, entropies, advantages, ratings = [], [], [], []
    for user in users:
        dist = Categorical(logits=policy(torch.from_numpy(user)))
        group = []
        for _ in range(K):
            item = dist.sample()
            group.append(rate(user, item.item()))
            log_probs.append(dist.log_prob(item))
        entropies.append(dist.entropy())
        # every sample is compared with the mean of the others
        group = np.array(group)
        baseline = (group.sum() - group) / (K - 1)
        advantages.append(group - baseline)
        ratings.extend(group)

    advantages = torch.from_numpy(np.concatenate(advantages)).float()
    logp = torch.stack(log_probs)

    pg_loss = -(advantages * logp).mean()
    entropy = torch.stack(entropies).mean()
    loss = pg_loss - beta * entropy

    opt.zero_grad()
    loss.backward()
    opt.step()

    if it % 8 == 7:
        print(f"iter {it + 1:2d}  rating {np.mean(ratings):.3f}  entropy {entropy.item():.3f}  pg {pg_loss.item():+.4f}")
