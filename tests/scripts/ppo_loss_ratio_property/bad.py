from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


@dataclass
class Args:
    seed: int = 2
    num_envs: int = 8
    num_steps: int = 8
    updates: int = 10
    epochs: int = 2
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    lr: float = 3e-3
    hidden: list = field(default_factory=lambda: [32])


class BitMatch:
    """Observation: 4 bits; the right action is their XOR of the first two."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.bits = torch.randint(0, 2, (self.n, 4))
        return self.bits.float()

    def step(self, a):
        r = (a == (self.bits[:, 0] ^ self.bits[:, 1])).float()
        return self.reset(), r


class Agent(nn.Module):
    def __init__(self, args):
        super().__init__()
        h = args.hidden[0]
        self.actor = nn.Sequential(nn.Linear(4, h), nn.Tanh(), nn.Linear(h, 2))
        self.critic = nn.Sequential(nn.Linear(4, h), nn.Tanh(), nn.Linear(h, 1))

    def evaluate(self, obs, act=None):
        d = torch.distributions.Categorical(logits=self.actor(obs))
        act = d.sample() if act is None else act
        return act, d.log_prob(act), d.entropy(), self.critic(obs).squeeze(-1)


class PPOTerms:
    def __init__(self, new_logp, old_logp, adv, clip):
        self.log_ratio = new_logp - old_logp
        self.adv, self.clip = adv, clip

    @property
    def ratio(self):
        return self.log_ratio.exp().detach()  # <- culprit

    @property
    def approx_kl(self):
        return ((self.ratio - 1) - self.log_ratio).mean().item()

    @property
    def clipfrac(self):
        return ((self.ratio - 1).abs() > self.clip).float().mean().item()

    def surrogate(self):
        r = self.ratio
        return -torch.min(r * self.adv, r.clamp(1 - self.clip, 1 + self.clip) * self.adv).mean()


def main(args):
    torch.manual_seed(args.seed)
    env, agent = BitMatch(args.num_envs), Agent(args)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)
    obs = env.reset()
    for update in range(args.updates):
        store = {"obs": [], "act": [], "logp": [], "rew": []}
        for _ in range(args.num_steps):
            with torch.no_grad():
                act, logp, _, _ = agent.evaluate(obs)
            nxt, rew = env.step(act)
            for k, x in zip(store, (obs, act, logp, rew)):
                store[k].append(x)
            obs = nxt
        b = {k: torch.cat(v) for k, v in store.items()}
        for _ in range(args.epochs):
            for mb in torch.randperm(len(b["act"])).split(32):
                _, logp, ent, val = agent.evaluate(b["obs"][mb], b["act"][mb])
                adv = b["rew"][mb] - val.detach()
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                terms = PPOTerms(logp, b["logp"][mb], adv, args.clip_coef)
                loss = terms.surrogate() + args.vf_coef * F.mse_loss(val, b["rew"][mb]) - args.ent_coef * ent.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        if update % 3 == 0:
            print(f"{update} reward {b['rew'].mean():.3f} kl {terms.approx_kl:.5f} clipfrac {terms.clipfrac:.2f}")


if __name__ == "__main__":
    main(Args())
