import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Market:
    """Twelve hours, four stalls; income in cents depends on both, with noise."""

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        hours = torch.arange(12).unsqueeze(1)
        self.mean = 100 + 25 * torch.sin(hours * 0.9 + torch.arange(4) * 1.7)

    def reset(self):
        self.hour = torch.randint(0, 12, (self.n,), generator=self.gen)
        return self.obs()

    def obs(self):
        phase = self.hour.float() * (2 * torch.pi / 12)
        return torch.cat([torch.stack([phase.sin(), phase.cos()], 1),
                          nn.functional.one_hot(self.hour, 12).float()], 1)

    def step(self, stall):
        income = self.mean[self.hour, stall] + 10 * torch.randn(self.n, generator=self.gen)
        self.hour = (self.hour + 1) % 12
        return self.obs(), income


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(14, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(14, 64), nn.Tanh(), nn.Linear(64, 1))

    def policy(self, o):
        return Categorical(logits=self.actor(o))


def collect(env, model, o, steps=5):
    data = []
    for _ in range(steps):
        with torch.no_grad():
            a = model.policy(o).sample()
        o2, r = env.step(a)
        data.append((o, a, r))
        o = o2
    return o, [torch.cat(c) for c in zip(*data)]


def update(model, opt, o, a, r):
    dist = model.policy(o)  # <- culprit
    value = model.critic(o).squeeze(-1)
    adv = (r - value).detach()
    entropy = dist.entropy().mean()  # <- culprit
    actor_loss = -(adv * dist.log_prob(a)).mean()  # <- culprit
    critic_loss = nn.functional.smooth_l1_loss(value, r)
    loss = actor_loss + 0.5 * critic_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    return entropy.item(), critic_loss.item()


def main():
    torch.manual_seed(61)
    gen = torch.Generator().manual_seed(61)
    env, model = Market(16, gen), ActorCritic()
    opt = torch.optim.SGD(model.parameters(), lr=0.3)
    o = env.reset()
    for i in range(1, 121):
        o, (obs, act, rew) = collect(env, model, o)
        ent, c_loss = update(model, opt, obs, act, rew)
        if i % 20 == 0 or i == 5:
            share = torch.bincount(act, minlength=4) / len(act)
            print(f"update {i} income {rew.mean():.1f} entropy {ent:.3f} critic {c_loss:.3f} shares {[round(x, 2) for x in share.tolist()]}")
    print(f"best possible {env.mean.max(1).values.mean():.1f}")


if __name__ == "__main__":
    main()
