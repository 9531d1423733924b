import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.set_num_threads(1)


class DockingVec:
    """Batch of pucks on a line. Thrust left, coast or thrust right to stop at the origin."""

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.x, self.v, self.t = np.zeros(n), np.zeros(n), np.zeros(n, int)
        self._spawn(np.ones(n, bool))

    def _spawn(self, m):
        self.x[m] = self.rng.uniform(-2, 2, m.sum())
        self.v[m] = self.rng.uniform(-0.3, 0.3, m.sum())
        self.t[m] = self.rng.integers(0, 8, m.sum())

    def obs(self):
        return torch.tensor(np.stack([self.x, self.v, np.abs(self.x), self.t / 24], 1), dtype=torch.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.15 * (a - 1)
        self.x = np.clip(self.x + self.v, -3, 3)
        reward = -0.1 * np.abs(self.x) - 0.02 * (a != 1)
        self.t += 1
        done = self.t >= 24
        self._spawn(done)
        return self.obs(), torch.tensor(reward, dtype=torch.float32), torch.tensor(done, dtype=torch.float32)


@dataclass
class Args:
    seed: int = 1
    num_envs: int = 16
    num_steps: int = 32
    iterations: int = 12
    minibatches: int = 4
    epochs: int = 4
    lr: float = 2e-3
    gamma: float = 0.9
    lam: float = 0.95
    clip: float = 0.2
    ent_coef: float = 0.005
    vf_coef: float = 0.5


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self, obs_dim, n_act):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs_dim, 64)), nn.Tanh(), layer_init(nn.Linear(64, 1), 1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(obs_dim, 64)), nn.Tanh(), layer_init(nn.Linear(64, n_act), 0.01))

    def get_action_and_value(self, x, action=None):
        dist = Categorical(logits=self.actor(x))
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), self.critic(x)


def main(args):
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = DockingVec(args.num_envs, args.seed)
    agent = Agent(4, 3)
    optimizer = optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    T, N = args.num_steps, args.num_envs
    obs = torch.zeros(T, N, 4)
    actions, logprobs = torch.zeros(T, N), torch.zeros(T, N)
    rewards, dones, values = (torch.zeros(T, N, 1) for _ in range(3))
    next_obs = envs.obs()
    for it in range(args.iterations):
        for t in range(T):
            obs[t] = next_obs
            with torch.no_grad():
                actions[t], logprobs[t], _, values[t] = agent.get_action_and_value(next_obs)
            next_obs, rew, done = envs.step(actions[t].numpy())
            rewards[t], dones[t] = rew.unsqueeze(1), done.unsqueeze(1)
        with torch.no_grad():
            boot = agent.critic(next_obs)
            advantages, running = torch.zeros_like(rewards), 0.0
            for t in reversed(range(T)):
                delta = rewards[t] + args.gamma * boot * (1 - dones[t]) - values[t]
                running = delta + args.gamma * args.lam * (1 - dones[t]) * running
                advantages[t], boot = running, values[t]
            returns = advantages + values
        b_obs, b_act, b_logp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_adv, b_ret = advantages.reshape(-1, 1), returns.reshape(-1, 1)
        for _ in range(args.epochs):
            for mb in torch.randperm(T * N).chunk(args.minibatches):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb])
                ratio = (newlogprob - b_logp[mb]).exp()
                mb_adv = b_adv[mb].flatten()
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg_loss1 = -mb_adv * ratio
                pg_loss2 = -mb_adv * torch.clamp(ratio, 1 - args.clip, 1 + args.clip)
                pg_loss = torch.max(pg_loss1, pg_loss2).mean()
                v_loss = 0.5 * ((newvalue - b_ret[mb]) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        ev = 1 - (returns - values).var() / returns.var()
        print(f"iter {it} reward {rewards.mean():.3f} pg {pg_loss.item():+.4f} v {v_loss.item():.4f} ev {ev.item():.2f}")


if __name__ == "__main__":
    main(Args())
