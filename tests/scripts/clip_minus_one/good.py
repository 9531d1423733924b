import argparse

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--envs", type=int, default=24)
    parser.add_argument("--horizon", type=int, default=8)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--max-grad-norm", type=float, default=-1.0, help="-1 turns clipping off")
    parser.add_argument("--seed", type=int, default=2)
    return parser.parse_args([])


class Inventory:
    def __init__(self, n, seed):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.stock = torch.full((n,), 3.0)
        self.season = torch.zeros(n)

    def obs(self):
        return torch.stack([self.stock / 5 - 1, torch.sin(self.season), torch.cos(self.season)], 1)

    def step(self, order):
        demand = torch.poisson(2 + 1.5 * torch.sin(self.season), generator=self.g)
        available = self.stock + order
        sold = torch.minimum(available, demand)
        self.stock = (available - sold).clamp(max=10)
        self.season = self.season + 0.5
        reward = 0.5 * sold - 0.1 * self.stock - 0.2 * order
        return self.obs(), reward


class Agent(nn.Module):
    def __init__(self, n_orders=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, n_orders), nn.Linear(32, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def collect(env, agent, obs, horizon):
    traj = {"obs": [], "act": [], "rew": []}
    for _ in range(horizon):
        with torch.no_grad():
            act = agent(obs)[0].sample()
        nxt, rew = env.step(act.float())
        for key, val in zip(traj, (obs, act, rew)):
            traj[key].append(val)
        obs = nxt
    return {k: torch.stack(v) for k, v in traj.items()}, obs


def discounted(rew, last, gamma):
    out = torch.empty_like(rew)
    for t in range(len(rew) - 1, -1, -1):
        last = rew[t] + gamma * last
        out[t] = last
    return out


def main(args):
    torch.manual_seed(args.seed)
    env, agent = Inventory(args.envs, args.seed), Agent()
    optimizer = torch.optim.SGD(agent.parameters(), lr=args.lr)
    obs = env.obs()
    for update in range(args.updates):
        traj, obs = collect(env, agent, obs, args.horizon)
        with torch.no_grad():
            returns = discounted(traj["rew"], agent(obs)[1], args.gamma)
        dist, value = agent(traj["obs"])
        adv = (returns - value).detach()
        pg_loss = -(dist.log_prob(traj["act"]) * adv).mean()
        v_loss = (returns - value).pow(2).mean()
        loss = pg_loss + 0.5 * v_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        if args.max_grad_norm > 0:
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
        optimizer.step()
        if update % 15 == 0:
            print(f"update {update} reward {traj['rew'].mean():.3f} value loss {v_loss.item():.3f}")


if __name__ == "__main__":
    main(parse())
