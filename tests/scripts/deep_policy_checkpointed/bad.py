import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.utils.checkpoint import checkpoint_sequential

torch.set_num_threads(1)


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class DeepActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, dim, depth, segments):
        super().__init__()
        self.segments = segments
        self.stack = nn.Sequential(nn.Linear(n_obs, dim), *[Residual(dim) for _ in range(depth)])
        self.actor = nn.Linear(dim, n_act)
        self.critic = nn.Linear(dim, 1)

    def forward(self, obs):
        if self.training:
            h = checkpoint_sequential(self.stack, self.segments, obs, use_reentrant=True)  # <- culprit
        else:
            h = self.stack(obs)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class Sorter:
    """Choose the position of the largest of a few noisy readings."""

    def __init__(self, n_envs, width, generator):
        self.shape, self.gen = (n_envs, width), generator

    def next(self):
        self.x = torch.randn(self.shape, generator=self.gen)
        return self.x

    def reward(self, a):
        rank = self.x.argsort(1).argsort(1).float()
        return rank.gather(1, a[:, None]).squeeze(1) / (self.shape[1] - 1)


def train(args):
    gen = torch.Generator().manual_seed(args.seed)
    torch.manual_seed(args.seed)
    env = Sorter(args.envs, 6, gen)
    model = DeepActorCritic(6, 6, dim=24, depth=5, segments=3)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for u in range(args.updates):
        obs = env.next()
        model.train()
        dist, value = model(obs)
        act = dist.sample()
        rew = env.reward(act)
        adv = (rew - value).detach()
        loss = -(dist.log_prob(act) * adv).mean() + 0.5 * (rew - value).pow(2).mean()
        loss = loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if u % 25 == 0:
            model.eval()
            with torch.no_grad():
                greedy = model(env.next())[0].probs.argmax(1)
            print(f"update {u:3d} reward {rew.mean().item():.3f} greedy {env.reward(greedy).mean().item():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
