"""What seeing gradients costs: whygrad against what people paste into their scripts.

    python benchmarks/overhead.py [--minutes 5] [--device cuda] [--workload NAME ...] [--only NAME ... | --alone]
                                  [--json FILE]

Each contestant has a process of its own, in which it is switched on once. whygrad as it comes and whygrad without
telemetry alternate with the plain loop in the same process, every few updates (with the ways into whygrad closed);
then all the others that are installed have a round, next to a round of the plain loop in its own process. All
processes are ended and begun again several times. What is printed is the time of all rounds together over that of the
plain rounds, with a 95 % bootstrap interval, and the median of the rounds' ratios. Samples and re-traced updates fall
into few rounds: only the former shows them.

On a CPU the clock is the process's own time on one thread. On a GPU it is wall time between two synchronisations, and
sampled updates are run once in a mode in which every wait for the device raises.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from contestants import ALWAYS, Entry, present
from pairing import Ratio, paired
from seats import Seat
from whygrad.capture.torch import Capture, Options
from workloads import nothing, workloads

ROUND = {"cpu": 0.0025, "cuda": 0.15}
"""Seconds of one side of a pair: neighbours on the machine come and go more slowly. A GPU's queue has to fill first."""
TOGETHER = {"cpu": 2.0, "cuda": 6.0}
"""Seconds of pairs in one process before another one has its turn."""
OTHERS_ROUND = {"cpu": 0.04, "cuda": 0.08}
"""Seconds of a round of the others."""
FULL = 0.05
"""Seconds after which a GPU's queue is as full as it gets."""
FEWEST = 1
GENERATIONS = {"cpu": 3, "cuda": 2}
"""How often all processes are begun anew. On a GPU that takes half a minute."""
AIM = 1.02
QUIET = "whygrad, nothing re-traced"
WATCHING = [name for name in ALWAYS if name != "plain"]
ALONE = ["whygrad"]
"""Measured for an interval as narrow as the time allows."""


@dataclass
class Measured:
    """One workload: seconds per update, round by round; `plain` holds the plain round next to each."""

    workload: str
    update: float = 0.0
    """Seconds that a plain one takes, roughly."""
    times: dict[str, list[float]] = field(default_factory=dict)
    plain: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    account: str = ""

    def note(self, name: str, taken: float, plain: float) -> None:
        self.times.setdefault(name, []).append(taken)
        self.plain.setdefault(name, []).append(plain)

    def ratios(self) -> dict[str, Ratio]:
        return {name: paired(self.plain[name], times) for name, times in self.times.items()}

    def updates(self, seconds: float) -> int:
        return max(1, math.ceil(seconds / self.update))


class Generation:
    """One process per contestant, all begun anew."""

    def __init__(self, device: str, others: dict[str, Entry], found: Measured, watching: list[str]) -> None:
        self.found, self.device, self.watching = found, device, watching
        plain = ["plain"] if others or not found.update else []
        self.own = {name: Seat(device, found.workload, ALWAYS[name]) for name in plain + watching}
        found.update = found.update or self.own["plain"].round(10)
        self.others: dict[str, Seat] = {}
        for name, entry in others.items():
            if name not in found.failed:
                self._attempt(name, partial(self._seat, name, device, entry))

    def measure(self, deadline: float) -> None:
        turns = 0
        while turns < FEWEST or time.perf_counter() < deadline:
            for name in self.watching:
                self._measure_own(name, self.own[name])
            self._measure_others()
            turns += 1

    def _measure_own(self, name: str, seat: Seat) -> None:
        updates = self.found.updates(ROUND[self.device])
        pairs = math.ceil(TOGETHER[self.device] / (2 * updates * self.found.update))
        # The way into whygrad is cold at first, which an update of several milliseconds does not notice.
        settling = min(10, math.ceil(FULL / self.found.update)) if self.device == "cuda" else int(updates > 1)
        answer = seat.pairs(updates, pairs, settling)
        for pair in answer.pairs:
            self.found.note(name, pair.watched * pair.weight, pair.bare * pair.weight)
            if name == "whygrad" and not pair.retraced:
                self.found.note(QUIET, pair.watched, pair.bare)
        if name == "whygrad":
            self.found.account = answer.account

    def _measure_others(self) -> None:
        updates = max(2, self.found.updates(OTHERS_ROUND[self.device]))
        for name, seat in list(self.others.items()):
            beside = self.own["plain"].round(updates)
            self._attempt(name, partial(self._note, name, seat, updates, beside))

    def _seat(self, name: str, device: str, entry: Entry) -> None:
        self.others[name] = Seat(device, self.found.workload, entry)

    def _note(self, name: str, seat: Seat, updates: int, beside: float) -> None:
        self.found.note(name, seat.round(updates), beside)

    def _attempt(self, name: str, does: Callable[[], object]) -> None:
        try:
            does()
        except RuntimeError as error:
            self.found.failed[name] = str(error)
            self.others.pop(name, None)

    def end(self) -> None:
        for seat in (*self.own.values(), *self.others.values()):
            seat.leave()


def compare(name: str, device: str, others: dict[str, Entry], watching: list[str], limit: float) -> Measured:
    start = time.perf_counter()
    found = Measured(name)
    generations = GENERATIONS[device]
    for number in range(1, generations + 1):
        generation = Generation(device, others, found, watching)
        generation.measure(start + limit * number / generations)
        generation.end()
        print(f"\r{name}: {len(found.times['whygrad'])} rounds", end=" ", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def never_waits(name: str) -> str:
    """Sample every update, after the window has closed, while every wait for the device is an error."""
    workload = workloads("cuda")[name]()
    records: list[Any] = []
    capture = Capture(Options(budget=1.0, emit=records.append))
    capture.start()
    try:
        for _ in range(48):  # Windows are open until 6 and again at 21 and 41; the next one opens at 80.
            workload.update(nothing)
        torch.cuda.synchronize()
        before = len(records)
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(24):
                workload.update(nothing)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    finally:
        capture.stop()
    if capture.guard.broken is not None:
        return f"WAITED for the device: {capture.guard.broken}"
    return f"24 sampled updates without a wait for the device; {len(records) - before} records of them arrived"


def apart(does: Callable[[str], str], name: str) -> str:
    """In a process that ends: this one must not hold the device."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(does, (name,))


def show(found: Measured) -> None:
    plain = statistics.median(found.plain["whygrad"])
    print(f"\n{found.workload}: plain {1000 * plain:.3f} ms per update\n")
    print("| | all time over plain (95 %) | median round | ms per update | rounds |\n|---|---|---|---|---|")
    ratios = found.ratios()
    for name, ratio in ratios.items():
        taken = 1000 * statistics.mean(found.times[name])
        print(f"| {name} | {ratio} | {ratio.middle:.3f}× | {taken:.3f} | {ratio.rounds} |")
    for name, why in found.failed.items():
        print(f"| {name} | failed: {' '.join(why.split())[:200]} | | | |")
    own = ratios["whygrad"]
    verdict = "reached" if own.high <= AIM else "missed" if own.low > AIM else "neither shown nor refuted"
    print(f"\nwhygrad, in its last process: {found.account}. {AIM}× is {verdict}.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all workloads together (default: 5)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--workload", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="others to compare with (default: all; none: no one)")
    parser.add_argument("--alone", action="store_true", help="whygrad as it comes, and nothing beside it")
    parser.add_argument("--json", type=Path, help="write every round's times here")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no GPU here")
    several = workloads(arguments.device)
    absent = set(arguments.workload or ()) - set(several)
    if absent:
        parser.error(f"--workload: {', '.join(sorted(absent))}: unknown; here: {', '.join(several)}")
    others, missing = present()
    unknown = set(arguments.only or ()) - set(others)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))}: not installed or unknown; here: {', '.join(others)}")
    if arguments.only is not None or arguments.alone:
        others = {name: others[name] for name in arguments.only or ()}
    os.environ.setdefault("WANDB_SILENT", "true")
    where = "GPU, wall time" if arguments.device == "cuda" else "CPU, one thread"
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {where}")
    print(f"not installed, so left out: {', '.join(missing)}" if missing else "all peers are installed", flush=True)
    results = []
    for name in (chosen := arguments.workload or list(several)):
        if arguments.device == "cuda":
            print(f"\n{name}: {apart(never_waits, name)}", flush=True)
        watching = ALONE if arguments.alone else WATCHING
        found = compare(name, arguments.device, others, watching, 60 * arguments.minutes / len(chosen))
        show(found)
        results.append({"workload": found.workload, "times": found.times, "plain": found.plain})
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
