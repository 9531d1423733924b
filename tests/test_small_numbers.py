"""Small training loops whose structure is right and whose numbers are not, and their healthy twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_small_scripts import mistaken, quiet

BLEND = """
actor, critic, late_actor, late_critic = nn.Linear(4, 2), nn.Linear(6, 1), nn.Linear(4, 2), nn.Linear(6, 1)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
pairs = [*zip(late_actor.parameters(), actor.parameters()), *zip(late_critic.parameters(), critic.parameters())]

@torch.no_grad()
def follow(rate):
    for old, new in pairs:
        mixed = (1.0 - {rate}) * old + {rate} * new
        old.copy_(mixed)  # WG308

for update in range(60):
    obs, action, following = torch.randn(8, 4), torch.randn(8, 2), torch.randn(8, 4)
    with torch.no_grad():
        target = torch.randn(8, 1) + 0.9 * late_critic(torch.cat([following, late_actor(following)], 1))
    critic_optimizer.zero_grad()
    F.mse_loss(critic(torch.cat([obs, action], 1)), target).backward()
    critic_optimizer.step()
    actor_optimizer.zero_grad()
    (-critic(torch.cat([obs, actor(obs)], 1)).mean()).backward()
    actor_optimizer.step()
    if update % 5 == 0:
        follow(1.0)
"""
RATES = """
class Base:
    def __init__(self, weights):
        self.weights = list(weights)
        self.own = torch.optim.Adam(self.weights, lr=1e-4)

    def apply(self):
        self.own.step()

class Agent(Base):
    def __init__(self):
        self.net = nn.Linear(4, 1)
        super().__init__(self.net.parameters())
        self.net_optimizer = torch.optim.Adam(self.weights, lr={rate})  # WG315
        {later}

    def learn(self):
        self.net_optimizer.zero_grad()
        F.mse_loss(self.net(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        self.apply()

agent = Agent()
for _ in range(12):
    agent.learn()
"""
SCHEDULED = """
net = nn.Linear(4, 1)
first = torch.optim.AdamW(net.parameters(), lr=1e-3)  # WG315
schedule = torch.optim.lr_scheduler.LinearLR(first, 0.1, 1.0, total_iters=40)
optimizer = torch.optim.AdamW([dict(params=[net.weight]), dict(params=[net.bias], lr=4e-3)], lr=1e-3)
for _ in range(40):
    loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    {follow}
"""
DELAYED = """
actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
optimizer = torch.optim.{kind}([*actor.parameters(), *critic.parameters()], lr=0.01)
for update in range(20):
    obs, action = torch.randn(8, 4), torch.randn(8, 2)
    value_loss = F.mse_loss(critic(torch.cat([obs, action], 1)), torch.randn(8, 1))
    policy_loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
    share = {share}
    policy_loss = share * policy_loss  # WG506
    weights = list(actor.parameters())
    found = torch.autograd.grad(policy_loss, weights)
    optimizer.zero_grad()
    value_loss.backward()
    for weight, gradient in zip(weights, found):
        weight.grad = gradient
    optimizer.step()
"""
WRITTEN_OUT = """
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    obs, advantage, action = torch.randn(16, 4), torch.randn(16), torch.randint(0, 3, (16, 1))
    logs = torch.log_softmax(policy(obs), -1)
    spread = -(logs.exp() * logs).sum(-1)
    each = -logs.gather(1, action).squeeze(1) * advantage {sign} 0.01 * spread  # WG409
    loss = each.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ESTIMATED = """
policy, log_std = nn.Linear(4, 2), nn.Parameter(torch.full((2,), -1.0))
optimizer = torch.optim.Adam([*policy.parameters(), log_std])
for _ in range(6):
    obs, advantage, action = torch.randn(16, 4), torch.randn(16), torch.randn(16, 2)
    dist = torch.distributions.Normal(policy(obs), log_std.exp())
    again = dist.log_prob({drawn}).sum(-1)
    entropy_loss = {sign}again.mean()
    loss = -(dist.log_prob(action).sum(-1) * advantage).mean() + 0.1 * entropy_loss  # WG409
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BROKEN = {
    "an entropy estimated and added": ESTIMATED.format(drawn="dist.rsample()", sign="-"),
    "an entropy, written out and added": WRITTEN_OUT.format(sign="+"),
    "a delay by a coefficient": DELAYED.format(kind="Adam", share="1.0 if update % 3 == 0 else 0.0"),
    "a rate that nobody applies": RATES.format(rate=1e-3, later="pass"),
    "a schedule of an optimizer that was replaced": SCHEDULED.format(follow="pass"),
    "a blend with a share of zero": BLEND.format(rate="0.0"),
}
HEALTHY = {
    "an entropy estimated and subtracted": ESTIMATED.format(drawn="dist.rsample()", sign=""),
    "demonstrations are made likely": ESTIMATED.format(drawn="torch.randn(16, 2)", sign="-"),
    "an entropy, written out and subtracted": WRITTEN_OUT.format(sign="-"),
    "a delay by a coefficient without momentum": DELAYED.format(kind="SGD", share="float(update % 3 == 0)"),
    "a loss that comes in late": DELAYED.format(kind="Adam", share="float(update > 3)"),
    "a loss that fades out": DELAYED.format(kind="Adam", share="max(0.0, 1.0 - update / 3)"),
    "a spare optimizer like the one that steps": RATES.format(rate=1e-4, later="pass"),
    "an optimizer for a later phase": RATES.format(rate=1e-3, later="self.phases = [self.own, self.net_optimizer]"),
    "a schedule that is read off": SCHEDULED.format(
        follow="optimizer.param_groups[0]['lr'] = schedule.get_last_lr()[0]"
    ),
    "a blend with the share that was asked for": BLEND.format(rate="rate"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_mistake_is_named_on_its_line(name: str, tmp_path: Path) -> None:
    mistaken(BROKEN[name], tmp_path)


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_without_it(name: str, tmp_path: Path) -> None:
    quiet(HEALTHY[name], tmp_path)
