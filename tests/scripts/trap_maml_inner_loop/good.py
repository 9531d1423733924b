"""MAML with policy gradients: adapt by autograd.grad(create_graph=True), meta-learn weights and inner step sizes."""
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)


class PointGoal:
    """A batch of points on a plane that should walk to a goal, which differs from task to task and is not observed."""

    def __init__(self, goal, n=24):
        self.goal, self.n = goal, n

    def rollout(self, act, horizon=6):
        pos, states, actions, rewards = torch.zeros(self.n, 2), [], [], []
        for _ in range(horizon):
            with torch.no_grad():
                a = act(pos).sample()
            states.append(pos)
            actions.append(a)
            pos = pos + 0.3 * a.clamp(-1, 1)
            rewards.append(-(pos - self.goal).norm(dim=1))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        adv = (returns - returns.mean(1, keepdim=True)) / (returns.std(1, keepdim=True) + 1e-6)
        return torch.stack(states), torch.stack(actions), adv, torch.stack(rewards).mean().item()


class MetaPolicy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        shapes = {"w1": (2, hidden), "b1": (hidden,), "w2": (hidden, hidden), "b2": (hidden,), "w3": (hidden, 2), "b3": (2,)}
        self.weights = nn.ParameterDict({
            k: nn.Parameter(torch.randn(s) / s[0] ** 0.5 if len(s) == 2 else torch.zeros(s)) for k, s in shapes.items()})
        self.step_size = nn.ParameterDict({k: nn.Parameter(torch.tensor(0.15)) for k in shapes})
        self.log_std = nn.Parameter(torch.full((2,), -0.7))

    def initial(self):
        return dict(self.weights.items())

    def dist(self, x, w):
        h = torch.tanh(x @ w["w1"] + w["b1"])
        h = torch.tanh(h @ w["w2"] + w["b2"])
        return Normal(h @ w["w3"] + w["b3"], self.log_std.exp())

    def adapt(self, w, loss):
        grads = torch.autograd.grad(loss, list(w.values()), create_graph=True)
        return {k: p - self.step_size[k] * g for (k, p), g in zip(w.items(), grads)}


def surrogate(policy, weights, batch):
    states, actions, adv, _ = batch
    logp = policy.dist(states, weights).log_prob(actions).sum(-1)
    return -(logp * adv).mean()


def sample_tasks(n, gen):
    angle = 2 * torch.pi * torch.rand(n, generator=gen)
    return [PointGoal(g) for g in torch.stack([angle.cos(), angle.sin().abs()], 1)]


def main(meta_updates=20, n_tasks=4):
    torch.manual_seed(0)
    gen, policy = torch.Generator().manual_seed(0), MetaPolicy()
    meta_opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    for it in range(meta_updates):
        meta_loss, before, after = 0.0, 0.0, 0.0
        for env in sample_tasks(n_tasks, gen):
            w = policy.initial()
            support = env.rollout(lambda s: policy.dist(s, w))
            adapted = policy.adapt(w, surrogate(policy, w, support))
            query = env.rollout(lambda s: policy.dist(s, adapted))
            meta_loss = meta_loss + surrogate(policy, adapted, query) / n_tasks
            before, after = before + support[3] / n_tasks, after + query[3] / n_tasks
        meta_opt.zero_grad()
        meta_loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        meta_opt.step()
        if it % 4 == 0:
            rates = [round(p.item(), 3) for p in policy.step_size.values()]
            print(f"meta {it} reward before {before:.3f} after {after:.3f} loss {meta_loss.item():.3f} inner rates {rates}")


if __name__ == "__main__":
    main()
