import functools

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Bernoulli

torch.set_num_threads(1)


def releases_gradients(fn):
    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        try:
            return fn(self, *args, **kwargs)
        finally:
            for p in self.params:
                p.grad = None
    return wrapper


class Learner:
    def __init__(self, gamma=0.97):
        self.policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.baseline = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.params = [*self.policy.parameters(), *self.baseline.parameters()]
        self.optim = torch.optim.Adam(self.params, lr=3e-3)
        self.gamma = gamma

    def dist(self, obs):
        return Bernoulli(logits=self.policy(obs).squeeze(-1))

    @torch.no_grad()
    def act(self, obs):
        return int(self.dist(torch.from_numpy(obs)).sample())

    def returns(self, rewards):
        out, run = [], 0.0
        for r in rewards[::-1]:
            run = 0.1 * r + self.gamma * run
            out.append(run)
        return torch.tensor(out[::-1])

    @releases_gradients
    def update(self, episodes):
        obs = torch.cat([torch.stack(e["obs"]) for e in episodes])
        act = torch.tensor([a for e in episodes for a in e["act"]]).float()
        ret = torch.cat([self.returns(e["rew"]) for e in episodes])
        base = self.baseline(obs).squeeze(-1)
        adv = ret - base.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        loss = -(self.dist(obs).log_prob(act) * adv).mean() + 0.5 * (base - ret).pow(2).mean()
        loss.backward()
        self.optim.step()
        return loss.item()


def episode(env, learner, limit=100):
    obs, _ = env.reset()
    log = {"obs": [], "act": [], "rew": []}
    for _ in range(limit):
        a = learner.act(obs)
        nxt, r, term, trunc, _ = env.step(a)
        log["obs"].append(torch.from_numpy(obs)), log["act"].append(a), log["rew"].append(r)
        obs = nxt
        if term or trunc:
            break
    return log


if __name__ == "__main__":
    torch.manual_seed(3)
    env, learner = gym.make("CartPole-v1"), Learner()
    env.reset(seed=3)
    for it in range(20):
        batch = [episode(env, learner) for _ in range(4)]
        loss = learner.update(batch)
        if it % 5 == 0:
            print(f"iter {it} mean length {sum(len(e['rew']) for e in batch) / 4:.1f} loss {loss:+.4f}")
