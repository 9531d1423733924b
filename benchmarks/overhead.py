"""What seeing gradients costs: whygrad against what people paste into their scripts.

    python benchmarks/overhead.py [--minutes 5] [--device cuda] [--only NAME ...] [--json FILE]

Short rounds of a fixed number of updates alternate in one process: the plain loop, whygrad as it comes, whygrad
without telemetry, and now and then all the others that are installed, each next to a plain round of its own. whygrad
is one capture that lives through the comparison, as in a long run, and is switched off between its rounds.
What is printed is the time of all rounds together over that of the plain rounds, with a 95 % bootstrap interval, and
the median of the rounds' ratios. Samples and re-traced updates fall into few rounds: only the former shows them.

On a CPU the clock is the process's own time on one thread. On a GPU it is wall time between two synchronisations, and
sampled updates are run once in a mode in which every wait for the device raises.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from contestants import ALWAYS, Contestant, Entry, EveryUpdate, Whygrad, present
from pairing import Ratio, paired
from whygrad.capture.torch import Capture, Options
from workloads import Workload, nothing, workloads

ROUND = {"cpu": 0.08, "cuda": 0.15}
"""Seconds of a plain round: neighbours on the machine come and go more slowly. A GPU's queue has to fill first."""
SETTLED = 170
"""Updates under whygrad before anything is measured, if they do not take too long: by then windows are rare."""
FEWEST_SETTLED, LONGEST_SETTLING = 60, 5.0
RUN_IN = 60
"""Updates before a round is timed. Switching on and off replaces attributes of torch's classes, and CPython specialises
its instructions anew after about fifty misses; a run is switched on once."""
EVERY = 10
"""Rounds from one in which the others are measured to the next."""
FEWEST = 12
AIM = 1.02
QUIET = "whygrad, nothing re-traced"


@dataclass
class Measured:
    """One workload: seconds per update, round by round; `plain` holds the plain round next to each."""

    workload: str
    updates: int
    times: dict[str, list[float]] = field(default_factory=dict)
    plain: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    account: str = ""

    def note(self, name: str, taken: float, plain: float) -> None:
        self.times.setdefault(name, []).append(taken)
        self.plain.setdefault(name, []).append(plain)

    def ratios(self) -> dict[str, Ratio]:
        return {name: paired(self.plain[name], times) for name, times in self.times.items()}


class Bench:
    def __init__(self, device: str) -> None:
        self.device = device
        self.clock: Callable[[], float] = time.perf_counter if device == "cuda" else time.process_time

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def timed(self, contestant: Contestant, updates: int, run_in: int = 0) -> float:
        """Seconds per update."""
        update, between = contestant.workload.update, contestant.between
        contestant.begin()
        try:
            for _ in range(run_in):
                update(between)
            self.wait()
            count, start = 0, self.clock()
            while count < updates or contestant.busy:
                update(between)
                count += 1
            self.wait()
            return (self.clock() - start) / count
        finally:
            contestant.end()

    def settle(self, contestant: Contestant) -> None:
        count, start = 0, time.perf_counter()
        contestant.begin()
        while contestant.busy or count < FEWEST_SETTLED or (count < SETTLED and self._early(start)):
            contestant.workload.update(contestant.between)
            count += 1
            self.wait()
        contestant.end()

    def _early(self, start: float) -> bool:
        return time.perf_counter() - start < LONGEST_SETTLING

    def pace(self, workload: Workload) -> float:
        plain = Contestant(workload)
        self.timed(plain, 3)
        return self.timed(plain, max(3, int(0.1 / max(self.timed(plain, 3), 1e-6))))

    def compare(self, workload: Workload, others: dict[str, Entry], limit: float) -> Measured:
        deadline = time.perf_counter() + limit
        found = Measured(workload.name, max(3, math.ceil(ROUND[self.device] / self.pace(workload))))
        plain = Contestant(workload)
        always = {name: entry(workload) for name, entry in ALWAYS.items()}
        for contestant in always.values():
            self.settle(contestant)
        opened = self._open(workload, others, found)
        watching = always["whygrad"]
        assert isinstance(watching, Whygrad)
        samples, windows, attached = watching.samples, watching.capture.windows, watching.clock()
        number = 0
        while number < FEWEST or time.perf_counter() < deadline:
            before = watching.capture.windows
            entries: list[tuple[str, Contestant]] = [("plain", plain), *always.items()]
            order = entries if number % 2 else entries[::-1]
            run_in = min(RUN_IN, 2 * found.updates)  # To an update that takes long it makes no difference.
            taken = {name: self.timed(c, found.updates, run_in) for name, c in order}
            for name in always:
                found.note(name, taken[name], taken["plain"])
            if watching.capture.windows == before:
                found.note(QUIET, taken["whygrad"], taken["plain"])
            if number % EVERY == 0:
                self._others(found, plain, opened)
            number += 1
            if number % EVERY == 0:
                print(f"\r{workload.name}: {number} rounds", end=" ", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        found.account = (
            f"{watching.samples - samples} samples and {watching.capture.windows - windows} windows of re-tracing in "
            f"{watching.clock() - attached:.1f} s of its own; it accounts for {watching.spent:.2%} itself"
        )
        for contestant in reversed([*always.values(), *opened.values()]):
            contestant.close()  # Who came last wraps the others.
        return found

    def _open(self, workload: Workload, others: dict[str, Entry], found: Measured) -> dict[str, Contestant]:
        opened: dict[str, Contestant] = {}
        for name, entry in others.items():
            try:
                contestant = entry(workload)
                if isinstance(contestant, EveryUpdate):
                    self.settle(contestant)
                opened[name] = contestant
            except Exception as error:  # A peer that does not start here must not end the comparison.
                found.failed[name] = f"{type(error).__name__}: {error}"
        return opened

    def _others(self, found: Measured, plain: Contestant, opened: dict[str, Contestant]) -> None:
        updates = max(2, found.updates // 2)
        for name, contestant in list(opened.items()):
            beside = self.timed(plain, updates)
            try:
                found.note(name, self.timed(contestant, updates), beside)
            except Exception as error:
                found.failed[name] = f"{type(error).__name__}: {error}"
                del opened[name]


def never_waits(workload: Workload) -> str:
    """Sample every update, after the window has closed, while every wait for the device is an error."""
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


def show(found: Measured) -> None:
    plain = statistics.median(found.plain["whygrad"])
    print(f"\n{found.workload}: plain {1000 * plain:.3f} ms per update, rounds of {found.updates} updates\n")
    print("| | all time over plain (95 %) | median round | ms per update | rounds |\n|---|---|---|---|---|")
    ratios = found.ratios()
    for name, ratio in ratios.items():
        taken = 1000 * statistics.mean(found.times[name])
        print(f"| {name} | {ratio} | {ratio.middle:.3f}× | {taken:.3f} | {ratio.rounds} |")
    for name, why in found.failed.items():
        print(f"| {name} | failed: {' '.join(why.split())[:200]} | | | |")
    own = ratios["whygrad"]
    verdict = "reached" if own.high <= AIM else "missed" if own.low > AIM else "neither shown nor refuted"
    print(f"\nwhygrad: {found.account}. {AIM}× is {verdict}.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all workloads together (default: 5)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="others to compare with (default: all; none: no one)")
    parser.add_argument("--json", type=Path, help="write every round's times here")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no GPU here")
    others, missing = present()
    unknown = set(arguments.only or ()) - set(others)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))}: not installed or unknown; here: {', '.join(others)}")
    if arguments.only is not None:
        others = {name: others[name] for name in arguments.only}
    os.environ.setdefault("WANDB_SILENT", "true")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU, one thread"
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {where}")
    print(f"not installed, so left out: {', '.join(missing)}" if missing else "all peers are installed", flush=True)
    several = workloads(arguments.device)
    bench, results = Bench(arguments.device), []
    for make in several:
        workload = make()
        if arguments.device == "cuda":
            print(f"\n{workload.name}: {never_waits(workload)}", flush=True)
        found = bench.compare(workload, others, 60 * arguments.minutes / len(several))
        show(found)
        results.append({"workload": found.workload, "times": found.times, "plain": found.plain})
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
