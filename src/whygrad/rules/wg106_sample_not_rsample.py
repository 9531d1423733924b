"""`sample()` is used where the loss differentiates through the action.

`Distribution.sample()` runs without gradient. That is right for a score-function loss, which
differentiates the log-probability. A pathwise loss (SAC, SVG, a critic or a model fed with the
action) needs `rsample()`, which writes the draw as a function of the distribution's parameters. So does a latent
state that a decoder gets: without it, only the penalty on its distribution trains the encoder.

```python bad
import torch
from torch.distributions import Normal

actor = torch.nn.Linear(4, 1)
critic = torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam(actor.parameters())
for _ in range(3):
    obs = torch.randn(8, 4)
    dist = Normal(actor(obs), 0.5)
    action = dist.sample()  # WG106
    q = critic(torch.cat([obs, action], 1))
    loss = -q.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch
from torch.distributions import Normal

actor = torch.nn.Linear(4, 1)
critic = torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam(actor.parameters())
critic.requires_grad_(False)
for _ in range(3):
    obs = torch.randn(8, 4)
    dist = Normal(actor(obs), 0.5)
    action = dist.rsample()
    q = critic(torch.cat([obs, action], 1))
    loss = -q.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.latents import Latent, latents

CODE = "WG106"
NAME = "sample-not-rsample"


def check(trace: Trace) -> Iterator[Finding]:
    named = set()
    for cut in cutting.of_kind(trace, "sample"):
        named |= {cut.site, cut.op.site}
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here="drawn without gradient",
            why="sample() runs under no_grad, but this loss differentiates through the drawn value.",
            fix="use rsample(), or a score-function loss with log_prob(action)",
        )
    for latent in latents(trace):
        if latent.sample.site not in named:
            yield _penalty_only(trace, latent)


def _penalty_only(trace: Trace, latent: Latent) -> Finding:
    who = wording.whom(trace, latent.parameters)
    labels = [Label(latent.into.site, "goes on as a constant here")] if latent.into.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, latent.parameters, 'does', 'do')} not learn from what the samples lead to: only a "
        f"penalty on the distribution trains {wording.verb(trace, latent.parameters, 'it', 'them')}",
        latent.sample.site,
        "drawn without gradient",
        labels,
        f"sample() runs under no_grad, so the error made with this value stops here; {latent.backward.name} has no "
        "log_prob(sample) either that would tell good samples from bad ones.",
        f"{latent.backward.name} reaches {who} past the sample alone, in a traced update",
        "use rsample(), for categories a straight-through sample (OneHotCategoricalStraightThrough)",
        parameters=trace.names(latent.parameters),
        evidence={"sample": "latent"},
    )
