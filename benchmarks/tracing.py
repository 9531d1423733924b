"""What watching costs: a DQN update bare, traced, soon after the window has closed, and later in the run.

    python benchmarks/tracing.py [--rounds 40] [--json FILE]

Rounds of the four are interleaved in one process, so that the machine's noise hits all alike; the
ratio of medians is printed with a bootstrap confidence interval.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from whygrad.capture.torch import Capture, Options

UPDATES_PER_ROUND = 40
SOON, LATER = 100, 1_100
"""Updates behind a round: at first gradients are looked at every sixteenth step, and samples come closer together."""
NETWORKS = ((64, 64), (256, 256))
"""Hidden units and batch."""
RESAMPLES = 2000


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


def timed(update: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(UPDATES_PER_ROUND):
        update()
    return (time.perf_counter() - start) / UPDATES_PER_ROUND


def watched(update: Callable[[], None], trace: str, warm: int) -> float:
    """One round under a capture that has already seen `warm` updates."""
    capture = Capture(Options(updates=5, trace=trace))
    capture.start()
    try:
        for _ in range(warm):
            update()
        return timed(update)
    finally:
        capture.detach()


def interval(bare: list[float], other: list[float]) -> tuple[float, float, float]:
    """The ratio of medians and its 95 % bootstrap interval, resampling whole rounds."""
    rng = random.Random(0)
    count = len(bare)
    ratios = []
    for _ in range(RESAMPLES):
        picks = [rng.randrange(count) for _ in range(count)]
        ratios.append(statistics.median(other[i] for i in picks) / statistics.median(bare[i] for i in picks))
    ratios.sort()
    middle = statistics.median(other) / statistics.median(bare)
    return middle, ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES)]


def measure(hidden: int, batch: int, rounds: int) -> dict[str, tuple[float, float, float]]:
    torch.manual_seed(0)
    update = dqn(hidden, batch)
    for _ in range(200):
        update()
    times: dict[str, list[float]] = {"bare": [], "traced": [], "soon": [], "later": []}
    for _ in range(rounds):
        times["bare"].append(timed(update))
        times["soon"].append(watched(update, "auto", SOON))
        times["later"].append(watched(update, "auto", LATER))
        times["traced"].append(watched(update, "always", 2))
    return {name: interval(times["bare"], times[name]) for name in ("traced", "soon", "later")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print(
        f"torch {torch.__version__}, one thread, {arguments.rounds} interleaved rounds of {UPDATES_PER_ROUND} updates"
    )
    print(f"| network | batch | traced | after {SOON} updates | after {LATER:,} updates |")
    print("|---|---|---|---|---|")
    for hidden, batch in NETWORKS:
        ratios = measure(hidden, batch, arguments.rounds)
        cells = [f"{r:.3f}× ({low:.3f}–{high:.3f})" for r, low, high in ratios.values()]
        print(f"| 4-{hidden}-2 | {batch} | {' | '.join(cells)} |", flush=True)
        rows.append({"hidden": hidden, "batch": batch, **ratios})
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
