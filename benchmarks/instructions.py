"""What watching costs after the window, in instructions: no machine noise, so that tenths of a percent can be told.

    python benchmarks/instructions.py [--updates 1000] [--json FILE]

Every run is a process of its own under valgrind's callgrind (which must be installed), and only the updates behind the
warm-up are counted. A bare run gives the same number every time; a watched one differs a little, because its sampling
goes by the clock.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from tracing import NETWORKS, dqn
from whygrad.capture.torch import Capture, Options

WARM_UP = 1100
"""Updates before the count begins: the windows that open again at 20, 40, … 1000 lie behind."""
ARMS = {"bare": None, "watched": Options(), "watched, no statistics": Options(budget=0.0)}


def run(arm: str, hidden: int, batch: int, updates: int) -> None:
    """Inside callgrind: it counts while libffi calls, and the only such call is the one below."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    update = dqn(hidden, batch)
    options = ARMS[arm]
    if options is not None:
        capture = Capture(options)
        capture.sampling.budget.clock = time.process_time  # Who else runs on the machine must not buy us samples.
        capture.start()
    for _ in range(WARM_UP):
        update()

    def counted(*_: object) -> int:
        for _number in range(updates):
            update()
        return 0

    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    one = ctypes.create_string_buffer(1)
    ctypes.CDLL(None).bsearch(one, one, ctypes.c_size_t(1), ctypes.c_size_t(1), compare(counted))
    os._exit(0)


def count(case: tuple[str, int, int], updates: int) -> float:
    """Instructions of one update."""
    arm, hidden, batch = case
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=ffi_call", "--callgrind-out-file=/dev/null"]
    inner = [sys.executable, __file__, "--inside", arm, str(hidden), str(batch), "--updates", str(updates)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*command, *inner], capture_output=True, text=True, env=environment)
    found = re.search(r"refs:\s+([\d,]+)", done.stderr)
    if found is None or found[1] == "0":
        sys.exit(f"callgrind counted nothing:\n{done.stderr[-2000:]}")
    return int(found[1].replace(",", "")) / updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", nargs=3, metavar=("ARM", "HIDDEN", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        arm, hidden, batch = arguments.inside
        run(arm, int(hidden), int(batch), arguments.updates)
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed; it counts the instructions")
    cases = [(arm, hidden, batch) for hidden, batch in NETWORKS for arm in ARMS]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        counts = dict(zip(cases, pool.map(lambda case: count(case, arguments.updates), cases), strict=True))
    print(f"torch {torch.__version__}, instructions of one update, {arguments.updates} updates after {WARM_UP}")
    print(f"| network | batch | {' | '.join(ARMS)} |\n|---|---|{'---|' * len(ARMS)}")
    for hidden, batch in NETWORKS:
        bare = counts["bare", hidden, batch]
        cells = [f"{counts[arm, hidden, batch] / bare:.4f}×" if arm != "bare" else f"{bare:,.0f}" for arm in ARMS]
        print(f"| 4-{hidden}-2 | {batch} | {' | '.join(cells)} |")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([{"case": k, "instructions": v} for k, v in counts.items()], indent=1))


if __name__ == "__main__":
    main()
