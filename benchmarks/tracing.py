"""What watching costs: a DQN update bare, traced, soon after the window has closed, and later in the run.

    python benchmarks/tracing.py [--runs 20] [--json FILE]

Bare and watched rounds alternate in one process on the same tensors: between two watched rounds the capture is put
aside, and its clock stands still. What is printed is the time of all watched rounds over that of the bare ones next to
them, with a 95 % bootstrap interval: samples and updates that are traced again are in it.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from pairing import Ratio, paired
from ways import Ways
from whygrad.capture.torch import Capture, Options

UPDATES_PER_ROUND = 10
TRACED_PER_ROUND = 40
"""The first ones cost more: what is new about them is looked up."""
CLOSED, SOON, LATER = 100, 1_100, 5_100
"""Watched updates of a run: the window has closed, gradients are looked at every sixteenth step and samples come closer
together; from the second number on both are rarer."""
NETWORKS = ((64, 64), (256, 256))
"""Hidden units and batch."""


def dqn(hidden: int, batch: int) -> Callable[[], None]:
    """One update of a DQN with a two-layer network, as a function of no arguments."""
    q_net = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 2))
    target_net = copy.deepcopy(q_net)
    optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
    obs, next_obs = torch.randn(batch, 4), torch.randn(batch, 4)
    action, reward, done = torch.randint(0, 2, (batch, 1)), torch.randn(batch, 1), torch.zeros(batch, 1)

    def update() -> None:
        with torch.no_grad():
            target = reward + 0.99 * target_net(next_obs).max(1, keepdim=True).values * (1 - done)
        loss = F.mse_loss(q_net(obs).gather(1, action), target)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return update


class Watched:
    """A capture that is put aside for the bare rounds; its clock stands still meanwhile."""

    def __init__(self, trace: str) -> None:
        self._spent = 0.0
        self._since: float | None = None
        self.capture = Capture(Options(updates=5, trace=trace, clock=self.clock))
        self.ways = Ways(self.capture.start)
        self.ways.close()

    def clock(self) -> float:
        return self._spent + (time.process_time() - self._since if self._since is not None else 0.0)

    def round(self, update: Callable[[], None]) -> tuple[float, int]:
        """Seconds and updates; it does not end before a window has closed, in which bare ones would be traced, too."""
        self.ways.open()
        self._since = time.process_time()
        try:
            return timed(update, lambda: self.capture.tracing)
        finally:
            self._spent, self._since = self.clock(), None
            self.ways.close()

    def end(self) -> None:
        self.ways.open()
        self.capture.detach()


def timed(
    update: Callable[[], None], busy: Callable[[], bool] = lambda: False, updates: int = UPDATES_PER_ROUND
) -> tuple[float, int]:
    count, start = 0, time.process_time()
    while count < updates or busy():
        update()
        count += 1
    return time.process_time() - start, count


def run(update: Callable[[], None], times: dict[str, tuple[list[float], list[float]]]) -> None:
    """One watched run from its first update to its last, with a bare round next to each of its rounds."""
    watched = Watched("auto")
    seen = 0
    while seen < LATER:
        bare, (other, count) = timed(update)[0] / UPDATES_PER_ROUND, watched.round(update)
        if seen >= CLOSED:
            for values, value in zip(times["soon" if seen < SOON else "later"], (bare * count, other), strict=True):
                values.append(value)
        seen += count
    watched.end()


def traced(update: Callable[[], None], times: dict[str, tuple[list[float], list[float]]]) -> None:
    """A round with everything traced: a mode is on the stack from here on, so it ends with the round."""
    bare, _ = timed(update, updates=TRACED_PER_ROUND)
    capture = Capture(Options(updates=5, trace="always"))
    capture.start()
    try:
        update()
        update()
        values = bare, timed(update, updates=TRACED_PER_ROUND)[0]
    finally:
        capture.detach()
    for column, value in zip(times["traced"], values, strict=True):
        column.append(value)


def measure(hidden: int, batch: int, runs: int) -> dict[str, Ratio]:
    torch.manual_seed(0)
    update = dqn(hidden, batch)
    for _ in range(200):
        update()
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in ("traced", "soon", "later")}
    for _ in range(runs):
        run(update, times)
        traced(update, times)
    return {name: paired(*columns) for name, columns in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help=f"watched runs of {LATER:,} updates (default: 20)")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print(f"torch {torch.__version__}, one thread, {arguments.runs} runs of {LATER:,} updates")
    print(f"| network | batch | traced | updates {CLOSED}–{SOON:,} | updates {SOON:,}–{LATER:,} |")
    print("|---|---|---|---|---|")
    for hidden, batch in NETWORKS:
        ratios = measure(hidden, batch, arguments.runs)
        print(f"| 4-{hidden}-2 | {batch} | {' | '.join(map(str, ratios.values()))} |", flush=True)
        rows.append({"hidden": hidden, "batch": batch, **{name: asdict(ratio) for name, ratio in ratios.items()}})
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
