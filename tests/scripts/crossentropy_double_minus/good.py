import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(28)


class Desk:
    """Assign each request (5 features) to one of three desks."""

    def __init__(self):
        self.skill = torch.randn(5, 3)

    def requests(self, n):
        return torch.randn(n, 5)

    def outcome(self, x, desk):
        fit = (x @ self.skill).softmax(1)
        p = fit.gather(1, desk.unsqueeze(1)).squeeze(1)
        return torch.bernoulli(p)


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 32)
        self.scores = nn.Linear(32, 3)

    def forward(self, x):
        return self.scores(torch.tanh(self.hidden(x)))


class RunningBaseline:
    def __init__(self, momentum=0.95):
        self.momentum, self.value = momentum, 0.33

    def update(self, rewards):
        self.value = self.momentum * self.value + (1 - self.momentum) * rewards.mean().item()


def policy_loss(criterion, logits, desk, advantage):
    nll = criterion(logits, desk)
    return (nll * advantage).mean()


def entropy_of(logits):
    logp = logits.log_softmax(-1)
    return -(logp.exp() * logp).sum(-1).mean()


def main():
    world, router, baseline = Desk(), Router(), RunningBaseline()
    criterion = nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.Adam(router.parameters(), lr=3e-3)
    for step in range(250):
        x = world.requests(64)
        with torch.no_grad():
            desk = torch.distributions.Categorical(logits=router(x)).sample()
        reward = world.outcome(x, desk)
        advantage = reward - baseline.value
        baseline.update(reward)

        logits = router(x)
        loss = policy_loss(criterion, logits, desk, advantage) - 0.01 * entropy_of(logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} success {baseline.value:.3f} entropy {entropy_of(logits).item():.3f}")


if __name__ == "__main__":
    main()
