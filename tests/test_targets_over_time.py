"""A target that is refreshed for a part of the run only."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.finding import Finding

LOOP = """\
import copy, torch
from torch import nn
torch.manual_seed(5)
fast = nn.Linear(3, 2)
slow = copy.deepcopy(fast)
learner = torch.optim.Adam(fast.parameters(), lr=1e-3)
for turn in range(TURNS):
    state, following = torch.randn(2, 8, 3)
    with torch.no_grad():
        wanted = state[:, 0] + 0.9 * slow(following).amax(1)
    gap = (fast(state)[:, 0] - wanted).square().mean()
    learner.zero_grad()
    gap.backward()
    LEARN
    if REFRESH:
        HOW
"""
COPY = "slow.load_state_dict(fast.state_dict())"
BLEND = """\
for old, new in zip(slow.parameters(), fast.parameters()):
            old.data.lerp_(new.data, 0.05)"""


def found(folder: Path, turns: int, refresh: str, how: str, learn: str = "learner.step()") -> list[Finding]:
    torch.set_num_threads(1)
    text = LOOP.replace("TURNS", str(turns)).replace("REFRESH", refresh).replace("HOW", how).replace("LEARN", learn)
    file = folder / "following.py"
    file.write_text(text)
    with whygrad.watch() as watching:
        exec(compile(text, str(file), "exec"), {"__name__": "following"})
    return list(watching.report.loud)


@pytest.mark.parametrize("how", [COPY, BLEND])
def test_a_target_that_is_refreshed_no_more(how: str, tmp_path: Path) -> None:
    (late,) = found(tmp_path, 900, "turn % 8 == 0 and turn < 200", how)
    assert (late.code, late.severity) == ("WG308", "warning")
    assert 193 <= int(str(late.evidence["last_update"])) <= 300
    assert "slow does not follow fast any more" in late.message


@pytest.mark.parametrize(
    ("turns", "refresh", "how"),
    [
        (900, "turn % 8 == 0", BLEND),
        (900, "turn % 200 == 0", COPY),
        (900, "turn in (1, 10, 30, 100, 300)", COPY),
        (250, "turn % 8 == 0 and turn < 200", COPY),
    ],
)
def test_one_that_is_or_whose_time_may_not_have_come(turns: int, refresh: str, how: str, tmp_path: Path) -> None:
    assert found(tmp_path, turns, refresh, how) == []


def test_a_target_has_nothing_to_follow_when_training_is_over(tmp_path: Path) -> None:
    assert found(tmp_path, 900, "turn % 8 == 0 and turn < 200", COPY, "if turn < 210: learner.step()") == []
