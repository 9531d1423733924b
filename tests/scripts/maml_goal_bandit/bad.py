"""Model-agnostic meta-learning for a family of one-step goal reaching problems."""
import torch
import torch.nn as nn
from torch.distributions import Normal
from torch.func import functional_call

torch.set_num_threads(1)


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim=3, act_dim=2, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def forward(self, obs):
        return Normal(self.body(obs), self.log_std.exp())


class GoalTask:
    def __init__(self):
        angle = torch.rand(()) * 1.2
        self.goal = torch.stack([angle.cos(), angle.sin()])

    def sample(self, policy, weights, n=40):
        obs = torch.randn(n, 3)
        with torch.no_grad():
            act = functional_call(policy, weights, (obs,)).sample()
        reward = -(act - self.goal - 0.3 * obs[:, :2]).pow(2).sum(-1)
        return obs, act, reward


def surrogate(policy, weights, batch):
    obs, act, reward = batch
    logp = functional_call(policy, weights, (obs,)).log_prob(act).sum(-1)
    adv = (reward - reward.mean()) / (reward.std() + 1e-6)
    return -(logp * adv).mean()


class MetaLearner:
    def __init__(self, inner_lr=0.1, inner_steps=1):
        self.policy = GaussianPolicy()
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.meta_opt = torch.optim.Adam(self.policy.parameters(), lr=5e-3)

    def adapt(self, task):
        weights = dict(self.policy.named_parameters())
        for _ in range(self.inner_steps):
            loss = surrogate(self.policy, weights, task.sample(self.policy, weights))
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {
                name: nn.Parameter(w - self.inner_lr * g)  # <- culprit
                for (name, w), g in zip(weights.items(), grads)
            }
        return weights

    def meta_update(self, tasks):
        outer, rewards = [], []
        for task in tasks:
            weights = self.adapt(task)
            batch = task.sample(self.policy, weights)
            outer.append(surrogate(self.policy, weights, batch))
            rewards.append(batch[2].mean())
        meta_loss = torch.stack(outer).mean()
        self.meta_opt.zero_grad()
        meta_loss.backward()
        self.meta_opt.step()
        return torch.stack(rewards).mean().item()


def main():
    torch.manual_seed(3)
    learner = MetaLearner()
    history = []
    for it in range(120):
        history.append(learner.meta_update([GoalTask() for _ in range(4)]))
        if (it + 1) % 30 == 0:
            print(f"iteration {it + 1:3d}  post-adaptation reward {sum(history[-30:]) / 30:.3f}")


if __name__ == "__main__":
    main()
