"""A step consumes gradient that another loss deposited, against the roles of both.

An actor loss `-Q(s, pi(s))` reaches the critic too. That is harmless while the critic's `zero_grad()` discards
it. When the critic's step comes first, or one optimizer holds both, the critic learns to give high values
instead of right ones. The reverse, a critic loss that reaches the actor, is the same mistake. So is a game in
which one player's loss is the other's with the sign turned: left on the other player, it cancels that one's
own. And so is a draw that is scored by its log-probability and fed on with its graph: the loss behind it trains the
policy a second time, to another end.

Finish the critic's update before the actor's backward, clear in between, or freeze the critic's parameters
while the actor loss is computed.

```python bad
import torch

actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(6, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
for _ in range(4):
    obs, action, target = torch.randn(8, 4), torch.randn(8, 2), torch.randn(8, 1)
    critic_loss = (critic(torch.cat([obs, action], 1)) - target).pow(2).mean()
    actor_loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
    optimizer.zero_grad()
    critic_loss.backward()
    actor_loss.backward()  # WG205
    optimizer.step()
```

```python good
import torch

actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(6, 1)
actor_optimizer = torch.optim.Adam(actor.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
for _ in range(4):
    obs, action, target = torch.randn(8, 4), torch.randn(8, 2), torch.randn(8, 1)
    critic_loss = (critic(torch.cat([obs, action], 1)) - target).pow(2).mean()
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    actor_loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.trace import Trace
from whygrad.trace.crosstalk import crosstalk, judgements, owned_elsewhere
from whygrad.trace.leaks import Leak, by_loss, consumed

CODE = "WG205"
NAME = "cross-loss-gradient"
WHY = {
    "judged": "this loss raises or lowers the output of {who} to train what lies below; applied to {who} itself it "
    "bends the values instead of fitting them.",
    "judging": "this loss fits its network to a target; through the network's input it also moves {who}, which another "
    "loss is to train.",
    "opposed": "the loss of {who} is this one with the sign turned: what the two deposit there cancels out.",
    "drawn": "what {who} draws is scored by its log-probability, a policy gradient; this loss goes back through the "
    "draw itself as well, and fits {who} to something else.",
    "target": "the target of this loss depends on {who} with its graph attached.",
}


def check(trace: Trace) -> Iterator[Finding]:
    found: dict[str, list[Leak]] = {}
    for leak, kind in crosstalk(trace):
        found.setdefault(kind, []).append(leak)
    for kind, leaks in found.items():
        for leak in by_loss(trace, leaks) if kind != "opposed" else leaks:
            # Where another optimizer trains them by a loss of their own, one too many holds them: WG306.
            if kind != "judged" or owned_elsewhere(trace, leak) is None:
                yield _finding(trace, leak, kind)
    if not found:
        yield from _harmless(trace)


def _harmless(trace: Trace) -> Iterator[Finding]:
    """The same deposit, thrown away by the judge's own clearing: how SAC and DDPG are meant to work."""
    said: set[object] = set()
    for judgement in judgements(trace):
        backward = judgement.part.backward
        clears = [c for c in trace.clears if any(backward.id in c.discarded.get(n, ()) for n in judgement.judge)]
        if backward.site in said or not clears or consumed(trace, backward).keys() & judgement.judge:
            continue
        said.add(backward.site)
        who = wording.whom(trace, judgement.judge)
        yield Finding(
            CODE,
            NAME,
            "note",
            f"{backward.name} also deposits gradient on {who}; harmless, because the clearing at "
            f"{wording.where(clears[-1].site)} discards it before any step",
            backward.site,
            parameters=trace.names(judgement.judge),
        )


def _finding(trace: Trace, leak: Leak, kind: str) -> Finding:
    who = wording.whom(trace, leak.parameters)
    names = ", ".join(dict.fromkeys(o.name for o in leak.optimizers))
    labels = []
    loss = leak.backward.name
    fix = f"clear the gradients of {who} between this backward and its step, or freeze {who} while {loss} is computed"
    if kind == "drawn":
        loss = expressions.text(leak.op.site) or loss
        fix = "detach() what was drawn: both the log-probability and what comes after take it as data"
        if leak.source.site is not None:
            labels.append(Label(leak.source.site, "the draw keeps its graph"))
    if leak.op.site is not None and leak.op.site != leak.backward.site:
        made = leak.backward.made or leak.op.site
        labels.append(Label(made, f"reaches {who}"))
    step = leaking.consuming(trace, leak)
    if step is not None:
        labels.append(Label(step, f"applies it to {who}"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{loss} trains {who} as well: {names} applies what it deposits there{wording.in_part(leak.when)}",
        leak.backward.site,
        f"deposits gradient on {wording.plural(len(leak.parameters), 'parameter')} of {who}",
        labels,
        WHY[kind].format(who=who),
        leaking.seen(trace, leak),
        fix,
        parameters=trace.names(leak.parameters),
        evidence=leaking.evidence(leak) | {"kind": kind},
    )
