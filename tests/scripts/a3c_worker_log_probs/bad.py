import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 32)
        self.policy = nn.Linear(32, 3)
        self.value = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


class Sorting:
    """Put the parcel on the belt whose colour it has."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def show(self):
        self.colour = int(torch.randint(3, (), generator=self.g))
        return F.one_hot(torch.tensor(self.colour), 3).float() + 0.2 * torch.randn(3, generator=self.g)

    def judge(self, belt):
        return 1.0 if belt == self.colour else 0.0


def episode(net, env, length=12):
    log_probs, values, rewards = [], [], []
    for _ in range(length):
        dist, value = net(env.show())
        belt = dist.sample()
        log_probs.append(dist.log_prob(belt))
        values.append(value)
        rewards.append(env.judge(int(belt)))
    return log_probs, values, rewards


def worker_update(local, shared, optimizer, env):
    for mine, theirs in zip(local.parameters(), shared.parameters()):
        mine.data.copy_(theirs.data)
    log_probs, values, rewards = episode(local, env)
    returns = torch.tensor(rewards)
    values = torch.stack(values)
    log_probs = torch.FloatTensor(log_probs)  # <- culprit
    loss = -(log_probs * (returns - values.detach())).mean() + 0.5 * F.mse_loss(values, returns)
    local.zero_grad()
    loss.backward()
    for mine, theirs in zip(local.parameters(), shared.parameters()):
        theirs._grad = mine.grad
    optimizer.step()
    return sum(rewards)


def main():
    torch.manual_seed(0)
    shared = Net()
    optimizer = torch.optim.Adam(shared.parameters(), lr=1e-2)
    workers = [(Net(), Sorting(seed)) for seed in range(2)]
    for round_ in range(40):
        scores = [worker_update(local, shared, optimizer, env) for local, env in workers]
        if round_ % 10 == 9:
            print(f"round {round_ + 1} score {sum(scores) / 2:.1f} of 12")


if __name__ == "__main__":
    main()
