"""Gradient that leaks in a part of the run is found at any length of the run, and dated."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.finding import Finding

SETTING = """\
import torch
from torch import nn
torch.manual_seed(3)
net, value = nn.Linear(3, 2), nn.Linear(3, 1)
learner = torch.optim.SGD([*net.parameters(), *value.parameters()], lr=0.01)
for turn in range(TURNS):
    leaks = FROM <= turn < TO
    state, following = torch.randn(2, 12, 3)
"""
BOOTSTRAP = """
    wanted = state[:, 0] + 0.95 * value(following).squeeze(-1)
    if not leaks:
        wanted = wanted.detach()
    total = (value(state).squeeze(-1) - wanted).square().mean() + net(state).square().mean()
    learner.zero_grad()
    total.backward()
    learner.step()
"""
WEIGHT = """
    chance = torch.distributions.Categorical(logits=net(state))
    done = chance.sample()
    surplus = (done == 1).float() - value(state).squeeze(-1)
    weight = surplus if leaks else surplus.detach()
    total = surplus.square().mean() - (chance.log_prob(done) * weight).mean()
    learner.zero_grad()
    total.backward()
    learner.step()
"""
SCRIPTS = {"WG201": BOOTSTRAP, "WG203": WEIGHT}


def found(code: str, turns: int, begin: int, end: int, folder: Path) -> list[Finding]:
    torch.set_num_threads(1)
    text = (SETTING + SCRIPTS[code]).replace("TURNS", str(turns)).replace("FROM", str(begin)).replace("TO", str(end))
    file = folder / "leaking.py"
    file.write_text(text)
    with whygrad.watch() as watching:
        exec(compile(text, str(file), "exec"), {"__name__": "leaking"})
    return list(watching.report.loud)


@pytest.mark.parametrize("code", SCRIPTS)
@pytest.mark.parametrize(
    ("turns", "begin", "end", "said"),
    [
        (3, 0, 3, ""),
        (400, 0, 400, ""),
        (30, 0, 3, ", until update 3"),
        (600, 0, 3, ", until update 3"),
        (600, 0, 200, "last seen at update"),
        (700, 300, 700, "first seen at update"),
    ],
)
def test_a_leak_is_said_with_its_updates(
    code: str, turns: int, begin: int, end: int, said: str, tmp_path: Path
) -> None:
    (leak,) = found(code, turns, begin, end, tmp_path)
    assert (leak.code, leak.severity) == (code, "error")
    assert said in leak.message
    assert said or "update" not in leak.message


@pytest.mark.parametrize("code", SCRIPTS)
@pytest.mark.parametrize("turns", [3, 30, 600])
def test_without_a_leak_nothing_is_said(code: str, turns: int, tmp_path: Path) -> None:
    assert found(code, turns, 0, 0, tmp_path) == []
