"""PPO with activation checkpointing in a residual torso. The first block sees raw observations and is checkpointed
without re-entrance; the later blocks get activations that carry gradient, so re-entrant checkpointing is fine."""
import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)


class SignalEnv:
    """Two sensors give noisy evidence of which of three levers pays; the latent drifts."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n, self.z = n, torch.randn(n, 3, generator=self.g)

    def obs(self):
        noise = 0.1 * torch.randn(self.n, 6, generator=self.g)
        return torch.cat([self.z, self.z.roll(1, 1)], 1) + noise

    def step(self, a):
        r = torch.softmax(2 * self.z, 1).gather(1, a[:, None]).squeeze(1)
        self.z = 0.9 * self.z + 0.45 * torch.randn(self.n, 3, generator=self.g)
        return self.obs(), r


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Torso(nn.Module):
    def __init__(self, obs=6, d=24, depth=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(obs, d), nn.Tanh())
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))

    def forward(self, x):
        if not torch.is_grad_enabled():
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return x
        x = checkpoint(self.stem, x, use_reentrant=False)
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=i > 0)
        return x


class Agent(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.torso = Torso(d=d)
        self.policy, self.value = nn.Linear(d, 3), nn.Linear(d, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, x):
        h = self.torso(x)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def gae(rew, val, last, gamma=0.6, lam=0.9):
    adv, run = torch.zeros_like(rew), torch.zeros_like(last)
    for t in reversed(range(len(rew))):
        nxt = last if t == len(rew) - 1 else val[t + 1]
        run = rew[t] + gamma * nxt - val[t] + gamma * lam * run
        adv[t] = run
    return adv


@torch.no_grad()
def rollout(env, agent, obs, length):
    rows = []
    for _ in range(length):
        dist, v = agent(obs)
        a = dist.sample()
        nxt, r = env.step(a)
        rows.append((obs, a, dist.log_prob(a), v, r))
        obs = nxt
    O, A, L, V, R = (torch.stack(c) for c in zip(*rows))
    adv = gae(R, V, agent(obs)[1])
    return obs, R, [x.flatten(0, 1) for x in (O, A, L, adv, adv + V)]


def main(iterations=6, epochs=3, clip=0.2):
    torch.manual_seed(0)
    env, agent = SignalEnv(16), Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=1e-3)
    obs = env.obs()
    for it in range(iterations):
        obs, R, (O, A, L, adv, ret) = rollout(env, agent, obs, 12)
        for _ in range(epochs):
            for mb in torch.randperm(len(A)).chunk(3):
                dist, v = agent(O[mb])
                ratio = (dist.log_prob(A[mb]) - L[mb]).exp()
                a = (adv[mb] - adv[mb].mean()) / (adv[mb].std() + 1e-8)
                pg = -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()
                loss = pg + 0.5 * (v - ret[mb]).pow(2).mean() - 0.01 * dist.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
        print(f"iteration {it} reward {R.mean():.3f} loss {loss.item():.3f} entropy {dist.entropy().mean().item():.3f}")


if __name__ == "__main__":
    main()
