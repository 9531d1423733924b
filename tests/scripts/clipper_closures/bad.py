import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.set_num_threads(1)

NAMES = ("north", "south", "hub")


class Junction:
    """Three signal boxes choose a green phase; queues are shared over the rails."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.queue = torch.randint(1, 9, (self.n, 3)).float()
        return self.queue.clone()

    def step(self, phases):
        served = torch.stack([2.0 + 2.0 * (p == 1).float() - 1.0 * (p == 2).float() for p in phases], 1)
        spill = torch.relu(served - 3.0).roll(1, dims=1)
        self.queue = (self.queue - served + spill + torch.poisson(torch.full((self.n, 3), 2.2))).clamp(0, 20)
        return self.queue.clone(), -self.queue


def make_net():
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))


def make_clippers(nets, max_norm):
    clippers = []
    for net in nets:
        clippers.append(lambda: clip_grad_norm_(net.parameters(), max_norm))  # <- culprit
    return clippers


def rollout(env, nets, horizon):
    obs, logps, rewards = env.reset(), [[] for _ in nets], []
    for _ in range(horizon):
        dists = [torch.distributions.Categorical(logits=net(obs / 10)) for net in nets]
        acts = [d.sample() for d in dists]
        for own, d, a in zip(logps, dists, acts):
            own.append(d.log_prob(a))
        obs, r = env.step(acts)
        rewards.append(r.T)
    return [torch.stack(own) for own in logps], torch.stack(rewards)


def to_go(rewards, gamma=0.9):
    out, acc = [], torch.zeros_like(rewards[0])
    for r in rewards.flip(0):
        acc = r + gamma * acc
        out.append(acc)
    return torch.stack(out[::-1])


def main(iters=100, max_norm=0.5, lr=0.02):
    torch.manual_seed(23)
    env = Junction(24)
    nets = [make_net() for _ in NAMES]
    optims = [torch.optim.SGD(net.parameters(), lr=lr) for net in nets]
    clippers = make_clippers(nets, max_norm)
    for it in range(iters):
        logps, rewards = rollout(env, nets, 10)
        ret = to_go(rewards)
        adv = ret - ret.mean(dim=2, keepdim=True)
        norms = []
        for i, (opt, clip) in enumerate(zip(optims, clippers)):
            loss = -(logps[i] * adv[:, i]).mean()
            opt.zero_grad()
            loss.backward()
            norms.append(float(clip()))
            opt.step()
        if it % 20 == 0:
            shown = " ".join(f"{n} {v:.2f}" for n, v in zip(NAMES, norms))
            print(f"iter {it} queue {-rewards.mean():.2f} norms {shown}")


if __name__ == "__main__":
    main()
