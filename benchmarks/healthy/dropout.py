"""A policy with dropout on a contextual bandit, switched to evaluation mode to be measured and back to train."""

import hashlib

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Offers:
    """Four features decide which of three offers a visitor takes."""

    def __init__(self, generator):
        self.generator = generator
        self.taste = torch.randn(4, 3, generator=generator)

    def visitors(self, count):
        return torch.randn(count, 4, generator=self.generator)

    def reward(self, visitors, offer):
        return (offer == (visitors @ self.taste).argmax(dim=1)).float()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Dropout(0.2))
        self.logits = nn.Linear(48, 3)

    def forward(self, visitors):
        return Categorical(logits=self.logits(self.features(visitors)))


@torch.no_grad()
def evaluate(policy, offers):
    policy.eval()
    visitors = offers.visitors(200)
    taken = offers.reward(visitors, policy(visitors).probs.argmax(dim=1)).mean().item()
    policy.train()
    return taken


def update(policy, optimizer, offers, baseline):
    visitors = offers.visitors(64)
    dist = policy(visitors)
    offer = dist.sample()
    reward = offers.reward(visitors, offer)
    weight = reward - baseline
    loss = -(dist.log_prob(offer) * weight).mean() - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.1)
    optimizer.step()
    return 0.9 * baseline + 0.1 * reward.mean().item()


def digest(module):
    weights = [tensor.tolist() for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(updates=60):
    torch.set_num_threads(1)
    torch.manual_seed(11)
    offers = Offers(torch.Generator().manual_seed(11))
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline, scores = 1 / 3, []
    for step in range(updates):
        baseline = update(policy, optimizer, offers, baseline)
        if step % 10 == 9:
            scores.append(evaluate(policy, offers))
    print("taken", " ".join(f"{score:.2f}" for score in scores))
    print("weights", digest(policy))


if __name__ == "__main__":
    main()
