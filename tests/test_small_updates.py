"""Small training loops about the order of an update and what lives through it: broken ones and their healthy twins."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_small_scripts import LOOP, mistaken, quiet

LAZY = """
q_net = nn.Linear(4, 2)
target_net = copy.deepcopy(q_net).requires_grad_(False)
optimizer = torch.optim.Adam(q_net.parameters())

def follow():
    {walk}(lambda t, p: t.data.lerp_(p.data, 0.05), target_net.parameters(), q_net.parameters()){end}  # WG208

for _ in range(6):
    target = torch.randn(8) + 0.9 * target_net(torch.randn(8, 4)).max(1).values
    loss = F.mse_loss(q_net(torch.randn(8, 4))[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
"""
PART = """
body, policy, model = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 4)
everything = nn.ModuleList([body, policy, model])
optimizer = torch.optim.Adam(everything.parameters())
for _ in range(6):
    obs, following = torch.randn(8, 4), torch.randn(8, 4)
    {early}
    (-F.log_softmax(policy(body(obs)), -1)[:, 0] * torch.randn(8)).mean().backward()
    {late}  # WG303
    F.mse_loss(model(body(obs)), following).backward()
    optimizer.step()
"""
CLAMP = """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def limit():
    for p in net.parameters():
        if p.grad is not None:
            p.grad.data.clamp_(-0.1, 0.1)  # WG304

for _ in range(6):
    loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 2))
    {before}
    optimizer.zero_grad()
    loss.backward()
    {after}
    optimizer.step()
"""
SCHEDULE = """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters={length})
for _ in range(60):
    loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # WG309
    schedule.step()
"""
ADOPTED = """
class Learner:
    def __init__(self):
        self.actor = nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.actor.parameters())

    def adopt(self, champion):
        {how}  # WG110

learner, critic = Learner(), nn.Linear(5, 1)
critic_optimizer = torch.optim.Adam(critic.parameters())
learner.adopt(nn.Linear(4, 1))
for _ in range(6):
    obs = torch.randn(8, 4)
    fit = F.mse_loss(critic(torch.randn(8, 5)), torch.randn(8, 1))
    critic_optimizer.zero_grad()
    fit.backward()
    critic_optimizer.step()
    loss = -critic(torch.cat([obs, learner.actor(obs)], 1)).mean()
    learner.optimizer.zero_grad()
    loss.backward()
    learner.optimizer.step()
"""
REFERENCE = """
base = nn.Linear(4, 3)
warm_up = torch.optim.Adam(base.parameters())
for _ in range(6):
    loss = F.cross_entropy(base(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
    warm_up.zero_grad()
    loss.backward()
    warm_up.step()
policy = {policy}
reference = base  # WG307
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    obs = torch.randn(8, 4)
    now, ref = F.log_softmax(policy(obs), -1), F.log_softmax(reference(obs), -1).detach()
    loss = -(now[:, 0] * torch.randn(8)).mean() + 0.1 * (now.exp() * (now - ref)).sum(-1).mean()
"""
MICRO = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    obs, target = torch.randn(20, 4), torch.randn(20, 1)
    optimizer.zero_grad()
    for rows in torch.arange(20).split([16, 4]):
        loss = F.mse_loss(net(obs[rows]), target[rows])
        (loss * (len(rows) / 20)).backward()
    optimizer.step()
"""
JUDGE = """
judge = nn.Linear(4, 1)
optimizer = torch.optim.Adam(judge.parameters())
for _ in range(6):
    score = {squash}(judge(torch.randn(8, 4))).squeeze(1)
    loss = F.binary_cross_entropy_with_logits(score, torch.ones(8))  # WG403
"""
UNROLLED = """
policy, model = nn.Linear(1, 1), nn.Linear(2, 1).requires_grad_(False)
high = torch.tensor({high})
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    state, loss = torch.rand(8, 1) + 20.0, 0.0
    for _ in range(4):
        moved = state + 3.0 + model(torch.cat([state / 20, policy(state / 20)], 1))
        state = torch.minimum(moved, high)  # WG405
        loss = loss + (state - 21.0).square().mean()
"""
MAPPED = """
nets = [nn.Linear(4, 1) for _ in range(3)]
stacked, _ = torch.func.stack_module_state(nets)
weights = {{name: value.detach().requires_grad_() for name, value in stacked.items()}}
shift = torch.zeros((), requires_grad=True)
optimizer = torch.optim.Adam([*weights.values(), shift])

{decorator}
def predict(obs):
    return torch.vmap(lambda w, x: torch.func.functional_call(nets[0], w, (x,)))(weights, obs)

for _ in range(6):
    loss = F.mse_loss(predict(torch.randn(3, 8, 4)) + shift, torch.randn(3, 8, 1))
"""
SPREAD = """
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
for update in range(12):
    rows = 1 if update == 8 else 8
    obs, advantage = torch.randn(rows, 4), torch.randn(rows)
    advantage = (advantage - advantage.mean()) / {spread}  # WG505
    loss = -(F.log_softmax(policy(obs), -1)[:, 0] * advantage).mean()
"""
CARRIED = """
cell, head = nn.GRUCell(3, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.05)
hidden = torch.zeros(6, 8)
for _ in range(4):
    first, seen, taken, old = hidden, [], [], []
    with torch.no_grad():
        for _ in range(5):
            seen.append(torch.randn(6, 3))
            hidden = cell(seen[-1], hidden)
            dist = Categorical(logits=head(hidden))
            taken.append(dist.sample())
            old.append(dist.log_prob(taken[-1]))
    advantage = torch.randn(5, 6)
    for _ in range(2):
        state, new = {start}, []
        for obs, action in zip(seen, taken):
            state = cell(obs, state)
            new.append(Categorical(logits=head(state)).log_prob(action))
        ratio = torch.exp(torch.stack(new) - torch.stack(old))  # WG310
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LATENT = """
encoder, decoder = nn.Linear(4, 6), nn.Linear(6, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
for _ in range(6):
    obs = torch.randn(16, 4)
    logits = encoder(obs).view(16, 2, 3)
    dist = torch.distributions.{kind}(logits=logits)
    drawn = dist.{draw}()  # WG106
    even = torch.distributions.OneHotCategorical(logits=torch.zeros_like(logits))
    penalty = torch.distributions.kl_divergence(torch.distributions.OneHotCategorical(logits=logits), even).mean()
    error = (decoder(drawn.flatten(1)) - obs).pow(2).mean(1)
    score = (dist.log_prob(drawn.detach()).sum(1) * error.detach()).mean()
    loss = error.mean() + 0.1 * penalty{also}
"""

INVERTED = """
critic = nn.Linear(4, 1)
optimizer = torch.optim.Adam(critic.parameters())
for _ in range(6):
    value, following = critic(torch.randn(16, 4)).squeeze(-1), critic(torch.randn(16, 4)).squeeze(-1)
    target = torch.randn(16) + 0.9 * following  # WG201
    loss = {loss}
"""
LIKELIHOOD = """
policy = nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(6):
    obs, advantage = torch.randn(16, 4), torch.randn(16)
    action = Categorical(logits=policy(obs)).sample()
    nll = {nll}
    loss = {sign}(nll * advantage).mean()  # WG409
"""
MIXED = """
q_net = nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters())

def follow():
    mixed = target_net.state_dict()
    for name, value in q_net.state_dict().items():
        mixed[name] = 0.1 * value + 0.9 * mixed[name]  # WG308
    {load}

for _ in range(80):
    with torch.no_grad():
        target = torch.randn(8) + 0.9 * target_net(torch.randn(8, 4)).max(1).values
    loss = F.mse_loss(q_net(torch.randn(8, 4))[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
"""
RUNNING = """
policy, mean = nn.Linear(4, 3), torch.zeros(())
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(40):
    entropy = Categorical(logits=policy(torch.randn(16, 4))).entropy().mean()
    loss = (entropy - 1.0) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = 0.9 * mean + 0.1 * entropy{end}  # WG207
"""
IDLE = """
guide = nn.Linear(3, 2)
judge = nn.Linear(3, 1)
first = torch.optim.Adam(guide.parameters())
second = torch.optim.SGD(judge.parameters(), lr=0.1)  # WG315
for _ in range(12):
    state = torch.randn(8, 3)
    choice = Categorical(logits=guide(state))
    action = choice.sample()
    gain = (action == 0).float()
    worth = judge(state).squeeze(1)
    first.zero_grad()
    second.zero_grad()
    (choice.log_prob(action) * (worth - gain).detach()).mean().backward()
    F.mse_loss(worth, gain).backward()
    first.step()
    {also}
"""
ANEW = """
body = nn.Linear(3, 2)
for turn in range(20):
    if not turn % {every}:
        learner = torch.optim.{kind}  # WG315
    loss = F.mse_loss(body(torch.randn(8, 3)), torch.randn(8, 2))
    learner.zero_grad()
    loss.backward()
    learner.step()
    {also}
"""
OVER = """
tutor = nn.Linear(3, 2)
model = nn.Linear(3, 3)
slow = torch.optim.Adam(tutor.parameters())
fast = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(60):
    state = torch.randn(8, 3)
    {clear}
    F.cross_entropy(tutor(state), (state[:, 0] > 0).long()).backward()
    if {when}:
        slow.step()  # WG315
        slow.zero_grad()
    fast.zero_grad()
    F.mse_loss(model(state), state.roll(1, 1)).backward()
    fast.step()
"""
BROKEN = {
    "an optimizer for every update": ANEW.format(every=1, kind="Adam(body.parameters())", also=""),
    "one with momentum": ANEW.format(every=2, kind="SGD(body.parameters(), lr=0.1, momentum=0.9)", also=""),
    "an optimizer stops at some time": OVER.format(when="turn < 9", clear="slow.zero_grad()"),
    "and later": OVER.format(when="turn < 20", clear="pass"),
    "the critic is never stepped": IDLE.format(also="pass"),
    "a map that nobody runs over": LAZY.format(walk="map", end=""),
    "one loss clears what another left": PART.format(early="pass", late="everything.zero_grad()"),
    "clamped by hand before backward": CLAMP.format(before="limit()", after=""),
    "the schedule ends early": SCHEDULE.format(length=10),
    "an attribute gets a copy": ADOPTED.format(how="self.actor = copy.deepcopy(champion)"),
    "the reference is the policy": REFERENCE.format(policy="base") + LOOP,
    "a sigmoid before logits": JUDGE.format(squash="torch.sigmoid") + LOOP,
    "every step of a model is limited": UNROLLED.format(high=1.0) + LOOP,
    "a mapped network under no_grad": MAPPED.format(decorator="@torch.no_grad()  # WG104") + LOOP,
    "the spread of one sample": SPREAD.format(spread="(advantage.std() + 1e-8)") + LOOP,
    "a latent that only a penalty trains": LATENT.format(kind="OneHotCategorical", draw="sample", also="") + LOOP,
    "the prediction is detached for the target": INVERTED.format(loss="F.mse_loss(value.detach(), target)") + LOOP,
    "and so in a square": INVERTED.format(loss="(target - value.detach()).pow(2).mean()") + LOOP,
    "a cross entropy with a minus": LIKELIHOOD.format(
        nll='F.cross_entropy(policy(obs), action, reduction="none")', sign="-"
    )
    + LOOP,
    "a negated score with a minus": LIKELIHOOD.format(nll="-Categorical(logits=policy(obs)).log_prob(action)", sign="-")
    + LOOP,
    "mixed in a dictionary that nobody loads": MIXED.format(load="pass"),
    "a running mean with its graph": RUNNING.format(end=""),
    "the state is not carried over": CARRIED.format(start="torch.zeros(6, 8)"),
}
HEALTHY = {
    "one without memory for every update": ANEW.format(every=1, kind="SGD(body.parameters(), lr=0.1)", also=""),
    "an optimizer for a phase": ANEW.format(every=5, kind="Adam(body.parameters())", also=""),
    "one for every task, from the same weights": ANEW.format(
        every=1, kind="Adam(body.parameters())", also="body.load_state_dict(copy.deepcopy(body.state_dict()))"
    ),
    "an optimizer steps every third time": OVER.format(when="turn % 3 == 0", clear="pass"),
    "and every seventh": OVER.format(when="turn % 7 == 0", clear="pass"),
    "and nearly always": OVER.format(when="turn % 5", clear="pass"),
    "the critic is stepped, too": IDLE.format(also="second.step()"),
    "a cross entropy": LIKELIHOOD.format(nll='F.cross_entropy(policy(obs), action, reduction="none")', sign="") + LOOP,
    "a negated score": LIKELIHOOD.format(nll="-Categorical(logits=policy(obs)).log_prob(action)", sign="") + LOOP,
    "mixed in a dictionary and loaded": MIXED.format(load="target_net.load_state_dict(mixed)"),
    "a running mean": RUNNING.format(end=".detach()"),
    "both sides in turn": INVERTED.format(
        loss="F.mse_loss(value.detach(), target) + F.mse_loss(value, target.detach())"
    )
    + LOOP,
    "the target's side is detached": INVERTED.format(loss="F.mse_loss(target.detach(), value)") + LOOP,
    "a map that a list runs over": LAZY.format(walk="list(map", end=")"),
    "cleared once": PART.format(early="everything.zero_grad()", late="pass"),
    "clamped by hand after backward": CLAMP.format(before="", after="limit()"),
    "the schedule ends with the run": SCHEDULE.format(length=60),
    "values are loaded": ADOPTED.format(how="self.actor.load_state_dict(champion.state_dict())"),
    "the reference was trained before": REFERENCE.format(policy="copy.deepcopy(base)") + LOOP,
    "micro-batches with weights that sum to one": MICRO,
    "logits as they are": JUDGE.format(squash="torch.Tensor.clone") + LOOP,
    "limits that leave room": UNROLLED.format(high=40.0) + LOOP,
    "a mapped network": MAPPED.format(decorator="") + LOOP,
    "the spread of all but one": SPREAD.format(spread="(advantage.std(correction=0) + 1e-8)") + LOOP,
    "a latent with its score": LATENT.format(kind="OneHotCategorical", draw="sample", also=" + score") + LOOP,
    "a latent with labels": LATENT.format(
        kind="OneHotCategorical",
        draw="sample",
        also=" + F.cross_entropy(logits.flatten(0, 1), torch.randint(0, 3, (32,)))",
    )
    + LOOP,
    "a straight-through latent": LATENT.format(kind="OneHotCategoricalStraightThrough", draw="rsample", also="") + LOOP,
    "the state is carried over": CARRIED.format(start="first"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_mistake_is_named_on_its_line(name: str, tmp_path: Path) -> None:
    mistaken(BROKEN[name], tmp_path)


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_without_it(name: str, tmp_path: Path) -> None:
    quiet(HEALTHY[name], tmp_path)
