"""A2C with a generator of parameters handed to whichever optimizer or clipper the config selects."""
import argparse
import itertools

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--optim", default="rmsprop", choices=["rmsprop", "adam", "sgd"])
parser.add_argument("--clip", default="norm", choices=["norm", "value", "none"])
parser.add_argument("--updates", type=int, default=150)
args = parser.parse_args()
torch.manual_seed(4)
torch.set_num_threads(1)

actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))


def trainable():
    return (p for p in itertools.chain(actor.parameters(), critic.parameters()) if p.requires_grad)


params = trainable()
if args.optim == "rmsprop":
    opt = torch.optim.RMSprop(params, lr=3e-3, alpha=0.99, eps=1e-5)
elif args.optim == "adam":
    opt = torch.optim.Adam(params, lr=3e-3)
else:
    opt = torch.optim.SGD(params, lr=1e-2)


def clip_gradients():
    params = trainable()
    if args.clip == "norm":
        nn.utils.clip_grad_norm_(params, 0.5)
    elif args.clip == "value":
        nn.utils.clip_grad_value_(params, 0.1)


# batched pendulum-on-a-line: push position to the origin
pos, vel = torch.randn(16), torch.zeros(16)
steps = torch.zeros(16)
log = []
for update in range(args.updates):
    logps, values, rewards, masks, ents = [], [], [], [], []
    for _ in range(8):
        obs = torch.stack([pos, vel, torch.ones(16)], 1)
        dist = torch.distributions.Categorical(logits=actor(obs))
        act = dist.sample()
        logps.append(dist.log_prob(act))
        ents.append(dist.entropy())
        values.append(critic(obs).squeeze(1))
        vel = 0.8 * vel + 0.3 * (act.float() * 2 - 1)
        pos = pos + 0.2 * vel
        steps += 1
        rewards.append(-(pos.abs()).clamp(max=2.0))
        done = (steps >= 40).float()
        masks.append(1 - done)
        fresh = done.bool()
        pos, vel, steps = torch.where(fresh, torch.randn(16), pos), torch.where(fresh, 0.0, vel), torch.where(fresh, 0.0, steps)
    with torch.no_grad():
        ret = critic(torch.stack([pos, vel, torch.ones(16)], 1)).squeeze(1)
    returns = []
    for r, m in zip(reversed(rewards), reversed(masks)):
        ret = r + 0.95 * m * ret
        returns.insert(0, ret)
    returns, values, logps = torch.stack(returns), torch.stack(values), torch.stack(logps)
    adv = returns - values
    loss = -(adv.detach() * logps).mean() + 0.5 * adv.pow(2).mean() - 0.01 * torch.stack(ents).mean()
    opt.zero_grad()
    loss.backward()
    clip_gradients()
    opt.step()
    log.append(torch.stack(rewards).mean().item())
print("reward %.3f -> %.3f" % (sum(log[:15]) / 15, sum(log[-15:]) / 15))
