"""Discrete SAC written as loss modules (actor, qvalue, alpha) over a dictionary batch."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
EPS = 1e-6


class ForkedCorridor:
    """Vectorised corridor with four moves; only one exit pays."""

    def __init__(self, n=24):
        self.n = n

    def reset(self):
        self.xy = torch.randint(-2, 3, (self.n, 2)).float()
        return self.xy / 3

    def step(self, a):
        moves = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
        self.xy = (self.xy + moves[a]).clamp(-3, 3)
        done = (self.xy == torch.tensor([3.0, 3.0])).all(1)
        rew = done.float() - 0.02
        out = self.xy / 3
        fresh = torch.randint(-2, 3, (self.n, 2)).float()
        self.xy = torch.where(done[:, None], fresh, self.xy)
        return out, rew, done.float()


def net():
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 4))


class DiscreteSACLoss(nn.Module):
    def __init__(self, actor, qvalue, target_entropy_ratio=0.4, gamma=0.95):
        super().__init__()
        self.actor, self.qvalue = actor, qvalue
        self.target_qvalue = copy.deepcopy(qvalue).requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.tensor(math.log(0.1)))
        self.target_entropy = target_entropy_ratio * math.log(4)
        self.gamma = gamma

    def policy(self, obs):
        dist = Categorical(logits=self.actor(obs))
        prob = dist.probs
        log_prob = prob.clamp_min(EPS)  # <- culprit
        return prob, log_prob

    def qvalue_loss(self, batch):
        with torch.no_grad():
            prob, log_prob = self.policy(batch["next"])
            next_q = torch.min(self.target_qvalue[0](batch["next"]), self.target_qvalue[1](batch["next"]))
            state_value = (prob * (next_q - self.log_alpha.exp() * log_prob)).sum(-1)
            target = batch["reward"] + self.gamma * (1 - batch["done"]) * state_value
        pred = [q(batch["obs"]).gather(1, batch["action"][:, None]).squeeze(1) for q in self.qvalue]
        return sum(F.mse_loss(p, target) for p in pred)

    def actor_loss(self, batch):
        prob, log_prob = self.policy(batch["obs"])
        with torch.no_grad():
            q = torch.min(self.qvalue[0](batch["obs"]), self.qvalue[1](batch["obs"]))
        loss = (prob * (self.log_alpha.exp().detach() * log_prob - q)).sum(-1).mean()  # <- culprit
        return loss, (prob * log_prob).sum(-1).detach()  # <- culprit

    def alpha_loss(self, expected_log_prob):
        return -(self.log_alpha * (expected_log_prob + self.target_entropy)).mean()


def main():
    torch.manual_seed(0)
    env = ForkedCorridor()
    loss_module = DiscreteSACLoss(net(), nn.ModuleList([net(), net()]))
    optim_actor = torch.optim.Adam(loss_module.actor.parameters(), lr=2e-3)
    optim_q = torch.optim.Adam(loss_module.qvalue.parameters(), lr=3e-3)
    optim_alpha = torch.optim.Adam([loss_module.log_alpha], lr=5e-3)
    obs, memory = env.reset(), []
    for frame in range(160):
        with torch.no_grad():
            action = Categorical(logits=loss_module.actor(obs)).sample()
        nxt, rew, done = env.step(action)
        memory.append((obs, action, rew, nxt, done))
        obs = env.xy / 3
        if frame < 10:
            continue
        data = [torch.cat(x) for x in zip(*memory[-120:])]
        idx = torch.randint(0, len(data[0]), (128,))
        batch = dict(zip(("obs", "action", "reward", "next", "done"), (x[idx] for x in data)))
        loss_q = loss_module.qvalue_loss(batch)
        optim_q.zero_grad()
        loss_q.backward()
        optim_q.step()
        loss_pi, expected = loss_module.actor_loss(batch)
        optim_actor.zero_grad()
        loss_pi.backward()
        optim_actor.step()
        loss_alpha = loss_module.alpha_loss(expected)
        optim_alpha.zero_grad()
        loss_alpha.backward()
        optim_alpha.step()
        with torch.no_grad():
            for p, t in zip(loss_module.qvalue.parameters(), loss_module.target_qvalue.parameters()):
                t.lerp_(p, 0.02)
        if frame % 40 == 39:
            alpha = loss_module.log_alpha.exp().item()
            print(f"frame {frame + 1} reward {data[2].mean():.3f} q {loss_q.item():.4f} actor {loss_pi.item():.3f} alpha {alpha:.3f}")


if __name__ == "__main__":
    main()
