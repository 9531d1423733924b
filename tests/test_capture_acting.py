"""A policy that acts for a long time is not traced all the time, and what is wrong is found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.report.model import Report
from whygrad.session import active

PPO = """
import copy
import torch
from torch import nn

class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.worth = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.chooser = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))

    def play(self, seen, move=None):
        choice = torch.distributions.Categorical(logits=self.chooser(seen))
        move = choice.sample() if move is None else move
        return move, choice.log_prob(move), choice.entropy(), self.worth(seen)[:, 0]

player = Player()
rollout = copy.deepcopy(player)
adam = torch.optim.Adam(player.parameters(), lr=2e-3)
for cycle in range(12):
    seen, moves, logs, gains, worths = [], [], [], [], []
    now = torch.randn(1, 3)
    for tick in range(LENGTH):
        with torch.no_grad():
            move, log, _, worth = {actor}.play(now)
        gains.append(float((move.item() == 0) == (now[0, 1].item() > 0)))
        seen.append(now), moves.append(move), logs.append(log), worths.append(worth)
        now = torch.randn(1, 3)
    rest, sums = 0.0, []
    for gain in reversed(gains):
        rest = gain + 0.8 * rest
        sums.insert(0, rest)
    sums = torch.tensor(sums)
    seen, moves, logs, worths = torch.cat(seen), torch.cat(moves), torch.cat(logs), torch.cat(worths)
    edge = sums - worths
    for epoch in range(2):
        _, log, entropy, worth = player.play(seen, moves)
        ratio = ({log} - logs).exp()
        gain = torch.min(ratio * edge, ratio.clamp(0.8, 1.2) * edge).mean()
        loss = -gain - 0.01 * entropy.mean() + 0.5 * (worth - sums).pow(2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
"""
EPISODES = """
import torch
from torch import nn

chooser = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
adam = torch.optim.Adam(chooser.parameters(), lr=2e-3)
for episode in range(6):
    logs, gains, now = [], [], torch.randn(3)
    for tick in range(LENGTH):
        choice = torch.distributions.Categorical(logits=chooser(now))
        move = choice.sample()
        logs.append(choice.log_prob(move){away})
        gains.append(float((move.item() == 0) == (now[1].item() > 0)))
        now = torch.randn(3)
    total = -(torch.{made}(logs).requires_grad_() * (torch.tensor(gains) - 0.5)).mean()
    adam.zero_grad()
    total.backward()
    adam.step()
"""
SCRIPTS = {
    "healthy": (PPO.format(actor="player", log="log"), []),
    "ratio detached": (PPO.format(actor="player", log="log.detach()"), ["WG103"]),
    "acts with a copy": (PPO.format(actor="rollout", log="log"), ["WG314"]),
    "numbers": (EPISODES.format(away=".item()", made="tensor"), ["WG101"]),
    "detached": (EPISODES.format(away=".detach()", made="stack"), ["WG101"]),
}


def watched(folder: Path, source: str, length: int) -> Report:
    torch.manual_seed(1)
    file = folder / "acting.py"
    file.write_text(source.replace("LENGTH", str(length)))
    with whygrad.watch() as watching:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "acting"})
    return watching.report


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_is_said_whatever_the_length_of_a_rollout(name: str, tmp_path: Path) -> None:
    source, codes = SCRIPTS[name]
    short, long = watched(tmp_path, source, 30), watched(tmp_path, source, 600)
    found = [(f.code, f.site.line if f.site is not None else 0) for f in short.loud]
    assert [code for code, _ in found] == codes
    assert [(f.code, f.site.line if f.site is not None else 0) for f in long.loud] == found
    assert long.verdict == short.verdict


def test_acting_is_traced_for_a_while_only() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    with whygrad.watch():
        session = active()
        assert session is not None
        for _ in range(3000):
            net(torch.randn(3)).argmax().item()
        assert not session.capture.tracing
        assert session.capture.mode.calls < 6000
