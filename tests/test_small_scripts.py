"""Small training loops with one mistake each: one finding on the marked line; and their healthy twins."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from test_rule_examples import findings

PRELUDE = """\
import copy, torch, torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal
"""
LOOP = """
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

COLUMN = """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(6):
    obs, action, target = torch.randn(16, 4), torch.randint(0, 2, (16, 1)), torch.randn(16)
    loss = F.{loss}(net(obs).gather(1, action){shape}, target)  # WG401
"""
ATTENTION = """
embed, qkv, head = nn.Embedding(7, 8), nn.Linear(8, 24), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*embed.parameters(), *qkv.parameters(), *head.parameters()])
for _ in range(6):
    q, k, v = qkv(embed(torch.randint(0, 7, (5, 6)))).chunk(3, -1)
    mixed = F.softmax(q @ k.transpose(1, 2), dim={dim}) @ v  # WG402
    loss = F.mse_loss(head(mixed), torch.randn(5, 6, 3))
"""
SAMPLING = """
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    obs = torch.randn(8, 4)
    with torch.no_grad():
        chances = F.softmax(policy(obs), dim={dim})  # WG402
    action = torch.multinomial(chances, 1)
    advantage = (action.squeeze(1) == 1).float() - 0.3
    loss = -(F.log_softmax(policy(obs), -1).gather(1, action).squeeze(1) * advantage).mean()
"""
ROUNDED = """
actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
optimizer = torch.optim.Adam(actor.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
obs = torch.zeros(8, 3)
for _ in range(6):
    with torch.no_grad():
        played = Normal(actor(obs)[:, :1], 1.0).sample()
    obs = torch.from_numpy(played.numpy() * 0.1) + torch.randn(8, 3)
    critic_loss = F.mse_loss(critic(torch.randn(8, 5)), torch.randn(8, 1))
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    mean, log_std = actor(obs).chunk(2, -1)
    dist = Normal(mean, log_std.exp())
    action = dist.rsample().tanh()
    entered = torch.cat([obs, action{cut}, action{cut}], 1)  # WG105
    loss = (0.1 * dist.log_prob(action.detach()) - critic(entered)).mean()
"""
SPREAD_ONLY = """
actor, log_std = nn.Linear(4, 2), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([{held}log_std])  # WG109
for _ in range(6):
    dist = Normal(actor(torch.randn(16, 4)), log_std.exp())
    action = dist.sample()
    advantage = -action.pow(2).sum(1)
    loss = -(dist.log_prob(action).sum(1) * advantage).mean()
"""
PLANNING = """
model, plan = nn.Linear(4, 4), nn.Parameter(torch.zeros(4))
optimizer = torch.optim.Adam([plan])
for _ in range(6):
    loss = (model(plan) - 1).pow(2).mean()
"""
OLD_POLICY = """
policy, old_policy = nn.Linear(4, 3), nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for _ in range(4):
    old_policy.load_state_dict(policy.state_dict())
    obs = torch.randn(32, 4)
    with torch.no_grad():
        dist = Categorical(logits=old_policy(obs))
        action = dist.sample()
        old = dist.log_prob({action})
    advantage = torch.randn(32)
    for _ in range(2):
        ratio = (Categorical(logits=policy(obs)).log_prob(action) - old).exp()  # WG310
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
"""
OLD_GRAPH = """
policy, old_policy = nn.Linear(4, 3), nn.Linear(4, 3)
old_policy.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
obs, action, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
old = Categorical(logits=old_policy(obs)).log_prob(action){cut}
for _ in range(3):
    ratio = (Categorical(logits=policy(obs)).log_prob(action) - old).exp()  # WG204
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
"""
TOKENS = """
policy = nn.Sequential(nn.Embedding(6, 8), nn.Linear(8, 6))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for _ in range(3):
    ids, advantage = torch.randint(0, 6, (8, 5)), torch.randn(8, 1)
    with torch.no_grad():
        stored = policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    for _ in range(2):
        rows = torch.randperm(8)[:4]
        chosen = ids[rows]
        now = policy(chosen[:, :-1]).log_softmax(-1).gather(2, chosen[:, 1:, None]).squeeze(2)
        ratio = torch.exp(now - {old})  # WG311
        loss = -torch.min(ratio * advantage[rows], ratio.clamp(0.8, 1.2) * advantage[rows]).mean()
"""
REBUILT = """
class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        {again}  # WG110

trainer = Trainer()
for _ in range(6):
    loss = F.mse_loss(trainer.model(torch.randn(8, 4)), torch.randn(8, 2))
    trainer.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(trainer.model.parameters(), 0.5)
    trainer.optimizer.step()
"""
HIDDEN = """
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 4), nn.Linear(4, 1)

    def forward(self, obs, hidden):
        hidden = self.cell(obs, hidden)
        return self.head(hidden), hidden

class Trainer:
    def __init__(self):
        self.model, self.hidden = Recurrent(), torch.zeros(2, 4)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def update(self):
        hidden = self.hidden
        value, hidden = self.model(torch.randn(2, 3), hidden)
        self.hidden = hidden{cut}  # WG207
        self.optimizer.zero_grad()
        value.pow(2).mean().backward()
        self.optimizer.step()

trainer = Trainer()
for _ in range(6):
    trainer.update()
"""
PAID = """
class Offers:
    def reward(self, offer):
        return (offer == 1).float()

offers, policy, baseline = Offers(), nn.Linear(4, 3), 0.3
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    dist = Categorical(logits=policy(torch.randn(16, 4)))
    offer = dist.sample()
    weight = offers.reward(offer) - baseline
    loss = {sign}(dist.log_prob(offer) * weight).mean() - 0.01 * dist.entropy().mean()  # WG409
"""
SURROGATE = """
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
obs, action, advantage = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.randn(16)
old = Categorical(logits=policy(obs)).log_prob(action).detach()
for _ in range(4):
    ratio = (Categorical(logits=policy(obs)).log_prob(action) - old).exp()
    loss = {sign}torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()  # WG409
"""

FLAT_GRADIENTS = """
net = nn.Linear(3, 2)
parameters = list(net.parameters())
flat = torch.zeros(sum(p.numel() for p in parameters))
views = [part.view_as(p) for part, p in zip(flat.split([p.numel() for p in parameters]), parameters)]
for p, view in zip(parameters, views):
    p.grad = view
optimizer = torch.optim.SGD(parameters, lr=0.1)
for _ in range(8):
    loss = net(torch.randn(4, 3)).square().mean()
    {clear}
    loss.backward()
    optimizer.step()
"""
GAUSSIAN = """
actor, log_std = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*actor.parameters(), log_std])
for _ in range(6):
    obs, action, advantage = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16)
    deviation = (action - actor(obs)) * (-log_std).exp()
    log_prob = -(0.5 * deviation.square() + log_std).sum(-1)
    loss = -(log_prob * advantage).mean()
"""

NSTEP = """
net, head, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters(), *critic.parameters()], lr=0.01)
for _ in range(8):
    steps = []
    for _ in range(4):
        h = torch.tanh(net(torch.randn(4)))
        dist = Categorical(logits=head(h))
        action = dist.sample()
        steps.append((dist.log_prob(action), critic(h).squeeze(-1), 0.1))
    with torch.no_grad():
        R = critic(torch.tanh(net(torch.randn(4)))).item()
    policy_loss, value_loss = 0.0, 0.0
    for log_prob, value, reward in reversed(steps):
        R = reward + 0.9 * R
        td = R - value
        value_loss = value_loss + 0.5 * td ** 2
        policy_loss = policy_loss - log_prob * td.item()
    loss = (policy_loss + value_loss) / len(steps)
"""
SOFT = """
actor, log_alpha = nn.Linear(4, 3), nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam(actor.parameters())
for _ in range(6):
    probs = actor(torch.randn(16, 4)).softmax(-1)
    entropy = -(probs * torch.log(probs + 1e-8)).sum(-1)
    values = (probs * torch.randn(16, 3)).sum(-1)
    loss = ({sign}log_alpha.exp().detach() * entropy - values).mean()  # WG409
"""

BROKEN = {
    "column in mse_loss": COLUMN.format(loss="mse_loss", shape="") + LOOP,
    "column in smooth_l1_loss": COLUMN.format(loss="smooth_l1_loss", shape="") + LOOP,
    "attention over the batch": ATTENTION.format(dim=0) + LOOP,
    "drawing from a softmax over the batch": SAMPLING.format(dim=0) + LOOP,
    "rounded action beside an entropy term": ROUNDED.format(cut=".round()") + LOOP,
    "only the spread is held": SPREAD_ONLY.format(held="") + LOOP,
    "log-probability of another action": OLD_POLICY.format(action="dist.sample()") + LOOP.replace("\n", "\n    "),
    "old policy with its graph": OLD_GRAPH.format(cut="") + LOOP,
    "old tokens recomputed": TOKENS.format(old="now.detach()") + LOOP.replace("\n", "\n    "),
    "rebuilt in the constructor": REBUILT.format(again="self.model = nn.Linear(4, 2)"),
    "hidden state in an attribute": HIDDEN.format(cut=""),
    "reward by a method": PAID.format(sign="") + LOOP,
    "surrogate with a plus": SURROGATE.format(sign="") + LOOP,
    "soft policy with a plus": SOFT.format(sign="") + LOOP,
}
HEALTHY = {
    "no column": COLUMN.format(loss="mse_loss", shape=".squeeze(1)") + LOOP,
    "attention over the keys": ATTENTION.format(dim=-1) + LOOP,
    "drawing from a softmax over the actions": SAMPLING.format(dim=-1) + LOOP,
    "the action as it is": ROUNDED.format(cut="") + LOOP,
    "everything is held": SPREAD_ONLY.format(held="*actor.parameters(), ") + LOOP,
    "planning through a fixed model": PLANNING + LOOP,
    "log-probability of the action": OLD_POLICY.format(action="action") + LOOP.replace("\n", "\n    "),
    "old policy without its graph": OLD_GRAPH.format(cut=".detach()") + LOOP,
    "old tokens stored": TOKENS.format(old="stored[rows]") + LOOP.replace("\n", "\n    "),
    "built once": REBUILT.format(again="self.steps = 0"),
    "hidden state without its graph": HIDDEN.format(cut=".detach()"),
    "reward by a method, minimised": PAID.format(sign="-") + LOOP,
    "flat gradients, cleared by the buffer": FLAT_GRADIENTS.format(clear="flat.zero_()"),
    "flat gradients, cleared by their views": FLAT_GRADIENTS.format(clear="torch._foreach_zero_(views)"),
    "a Gaussian written out": GAUSSIAN + LOOP,
    "surrogate with a minus": SURROGATE.format(sign="-") + LOOP,
    "soft policy with a minus": SOFT.format(sign="-") + LOOP,
    "returns and losses as numbers from zero": NSTEP + LOOP,
}


def mistaken(script: str, folder: Path) -> None:
    """One finding, with the marked code, on the marked line."""
    code = PRELUDE + dedent(script)
    (marked,) = [(n, line[-5:]) for n, line in enumerate(code.splitlines(), 1) if "# WG" in line]
    found = findings(code, folder, "broken")
    assert [(f.site.line if f.site is not None else 0, f.code) for f in found] == [marked]


def quiet(script: str, folder: Path) -> None:
    assert findings(PRELUDE + dedent(script), folder, "healthy") == []


@pytest.mark.parametrize("name", BROKEN)
def test_the_mistake_is_named_on_its_line(name: str, tmp_path: Path) -> None:
    mistaken(BROKEN[name], tmp_path)


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_without_it(name: str, tmp_path: Path) -> None:
    quiet(HEALTHY[name], tmp_path)
