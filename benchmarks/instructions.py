"""What watching costs after the window, in instructions: no machine noise, so that tenths of a percent can be told.

    python benchmarks/instructions.py [--updates 1000] [--json FILE]

Every count is a process of its own under valgrind's callgrind (which must be installed), and only the updates behind
the warm-up are counted: a bare run, one without telemetry, and one that samples every update. How often whygrad samples
goes by the clock, and a clock is bent under valgrind (vector instructions are emulated slowly, so that all else looks
cheap beside them); that is seen in a run outside, by processor time.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from tracing import NETWORKS, dqn
from whygrad.capture.budget import SHARE as BUDGET
from whygrad.capture.torch import Capture, Options

WARM_UP = 1100
"""Updates before the count begins: the windows that open again at 20, 40, … 1000 lie behind."""
BARE, QUIET, EVERY = "bare", "--budget 0", "every update sampled"
SHARE = {BARE: None, QUIET: 0.0, EVERY: 1.0}
OUTSIDE = 30_000
"""Updates of the run in which samples are counted."""
Case = tuple[str, int, int]


def watched(share: float, records: list[object]) -> None:
    capture = Capture(Options(budget=share, emit=records.append))
    capture.sampling.budget.clock = time.process_time  # Who else runs on the machine must not buy us samples.
    capture.start()


def warm(hidden: int, batch: int) -> Callable[[], None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    update = dqn(hidden, batch)
    for _ in range(WARM_UP):
        update()
    return update


def run(case: Case, updates: int) -> None:
    """Inside callgrind: it counts while libffi calls, and the only such call is the one below."""
    arm, hidden, batch = case
    if (share := SHARE[arm]) is not None:
        watched(share, [])
    update = warm(hidden, batch)

    def counted(*_: object) -> int:
        for _number in range(updates):
            update()
        return 0

    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    one = ctypes.create_string_buffer(1)
    ctypes.CDLL(None).bsearch(one, one, ctypes.c_size_t(1), ctypes.c_size_t(1), compare(counted))
    os._exit(0)


def count(case: Case, updates: int) -> float:
    """Instructions of one update."""
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=ffi_call", "--callgrind-out-file=/dev/null"]
    inner = [sys.executable, __file__, "--inside", *map(str, case), "--updates", str(updates)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*command, *inner], capture_output=True, text=True, env=environment)
    found = re.search(r"refs:\s+([\d,]+)", done.stderr)
    if found is None or found[1] == "0":
        sys.exit(f"callgrind counted nothing:\n{done.stderr[-2000:]}")
    return int(found[1].replace(",", "")) / updates


def sampled(hidden: int, batch: int) -> float:
    """The part of all updates that is sampled by default once the run is under way."""
    inner = [sys.executable, __file__, "--inside", "outside", str(hidden), str(batch)]
    return float(subprocess.run(inner, capture_output=True, text=True, check=True).stdout)


def outside(hidden: int, batch: int) -> None:
    records: list[object] = []
    watched(BUDGET, records)
    update = warm(hidden, batch)
    early = len(records)
    for _ in range(OUTSIDE):
        update()
    print((len(records) - early) / OUTSIDE)


@dataclass(frozen=True)
class Row:
    hidden: int
    batch: int
    bare: float
    quiet: float
    every: float
    part: float

    @property
    def default(self) -> float:
        return self.quiet + self.part * (self.every - self.quiet)

    def __str__(self) -> str:
        often = f"{self.every / self.bare:.2f}× | {100 * self.part:.2f} %"
        ratios = f"{self.quiet / self.bare:.4f}× | {often} | {self.default / self.bare:.4f}×"
        return f"| 4-{self.hidden}-2 | {self.batch} | {self.bare:,.0f} | {ratios} |"


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", nargs=3, metavar=("ARM", "HIDDEN", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        arm, hidden, batch = arguments.inside[0], int(arguments.inside[1]), int(arguments.inside[2])
        return outside(hidden, batch) if arm == "outside" else run((arm, hidden, batch), arguments.updates)
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed; it counts the instructions")
    cases = [(arm, hidden, batch) for hidden, batch in NETWORKS for arm in SHARE]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        counts = dict(zip(cases, pool.map(lambda case: count(case, arguments.updates), cases), strict=True))
    rows = [Row(*n, counts[BARE, *n], counts[QUIET, *n], counts[EVERY, *n], sampled(*n)) for n in NETWORKS]
    print(f"torch {torch.__version__}, instructions of one update, {arguments.updates} updates after {WARM_UP}")
    print(f"| network | batch | bare | {QUIET} | {EVERY} | updates sampled | by default |")
    print("|---|---|---|---|---|---|---|", *rows, sep="\n")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return None


if __name__ == "__main__":
    main()
