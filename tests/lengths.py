"""What is found in a script is found in the same script when it goes on for longer.

`python tests/lengths.py --times 10 [--only NAME] [--number N]` runs the scripts and the rules' examples as they are and
with so many times as many updates, and prints where the findings differ. `--number` takes so many of them, spread over
all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import lengthening
from script_cases import Nursery
from test_rule_examples import UNTESTABLE_HERE, blocks
from whygrad.rule import rules

SCRIPTS = Path(__file__).parent / "scripts"
IMPORTED = ("torch.distributions", "torch._dynamo")
LIMIT = 12
"""Seconds for each time that a script is as long, at least ten times so many."""
MEANT = {
    "WG103/good.py": "its target is never refreshed, which a longer run proves",
    "frac_floor_division/bad.py": "beyond its schedule the learning rate is negative",
    "frac_floor_division/good.py": "beyond its schedule the learning rate is negative",
    "scaler_collapsed/bad.py": "the factor falls to zero, and steps are left out no more: a warning, no error",
    "td_lambda_segments/good.py": "its schedule ends at update 150, and the critic learns no more",
    "trap_cleanrl_ppo_buffers/good.py": "beyond its schedule the learning rate is negative",
    "trap_td3_delayed_after_warmup/good.py": "its replay buffer is full",
}
"""Scripts that are others when they go on for longer, and in what."""
Found = frozenset[tuple[str, str, str, int]]
"""Loud findings: code, severity, file and line."""


@dataclass(frozen=True)
class Case:
    """A script to be lengthened: a folder of the scripts, or one block of a rule's page."""

    name: str
    script: str
    files: dict[str, str]


@dataclass(frozen=True)
class Ended:
    """How a script ended."""

    found: Found
    failed: bool
    """With an exception, as broken ones may."""


@dataclass(frozen=True)
class Outcome:
    """One script at both lengths."""

    case: Case
    short: Ended | None = None
    """None: it did not come to its end in time."""
    long: Ended | None = None
    unchanged: bool = False
    """No loop was found that could be lengthened."""
    seconds: float = 0.0

    @property
    def same(self) -> bool:
        return self.unchanged or (self.short == self.long and self.short is not None)

    @property
    def meant(self) -> str:
        return MEANT.get(f"{self.case.name}/{self.case.script}", "")

    def said(self) -> str:
        if self.unchanged:
            return "no loop that can be lengthened"
        if self.short is None or self.long is None:
            return f"{'the script' if self.short is None else 'the lengthened script'} did not run to its end"
        if self.short.failed != self.long.failed:
            return "only one of the two ends with an exception"
        lost, new = self.short.found - self.long.found, self.long.found - self.short.found
        return f"lost {_listed(lost)}, new {_listed(new)}"


def cases(only: str = "") -> Iterator[Case]:
    folders = sorted(SCRIPTS.iterdir()) if not Path(only).is_dir() or not only else [Path(only)]
    for folder in folders:
        for script in ("bad.py", "good.py"):
            if (folder / script).exists():
                yield Case(folder.name, script, lengthening.read(folder, script))
    for rule in rules().values():
        for kind, code in blocks(rule).items() if rule.code not in UNTESTABLE_HERE else ():
            yield Case(rule.code, f"{kind}.py", {f"{kind}.py": _seeded(code)})


def _seeded(block: str) -> str:
    return block.replace("import torch\n", "import torch; torch.manual_seed(0)\n", 1)


def outcome(case: Case, times: int, nursery: Nursery) -> Outcome:
    began = time.perf_counter()
    program = lengthening.Program(case.script, case.files)
    variants = list(lengthening.lengthened(program, times))
    if not variants:
        return Outcome(case, unchanged=True)
    short = ended(case, case.files, nursery, times)
    long = None
    for variant in variants:  # A loop that cannot be longer makes the script fail: then the one inside it.
        long = ended(case, variant, nursery, times)
        if short is None or (long is not None and long.failed == short.failed):
            break
    return Outcome(case, short, long, False, time.perf_counter() - began)


def ended(case: Case, files: dict[str, str], nursery: Nursery, times: int) -> Ended | None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        origin = SCRIPTS / case.name
        if origin.is_dir():
            shutil.copytree(origin, folder, dirs_exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        if nursery.run(folder, case.script, limit=LIMIT * max(10, times)) < 0 or not (folder / "report.json").exists():
            return None
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    loud = [f for f in report["findings"] if f["severity"] in ("error", "warning") and not f["suppressed"]]
    found = frozenset((f["code"], f["severity"], *_place(f["span"])) for f in loud)
    return Ended(found, bool(report["script_exit_code"]))


def _place(span: dict[str, object] | None) -> tuple[str, int]:
    return (Path(str(span["file"])).name, int(str(span["line"]))) if span else ("", 0)


def _listed(found: Found) -> str:
    return ", ".join(f"{code} {severity} {file}:{line}" for code, severity, file, line in sorted(found)) or "nothing"


def compared(chosen: list[Case], times: int, at_once: int = 1) -> Iterator[Outcome]:
    nurseries: Queue[Nursery] = Queue()
    for _ in range(at_once):
        nurseries.put(Nursery(*IMPORTED))

    def one(case: Case) -> Outcome:
        nursery = nurseries.get()
        try:
            return outcome(case, times, nursery)
        finally:
            nurseries.put(nursery)

    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(one, case) for case in chosen]):
            yield done.result()
    while not nurseries.empty():
        nurseries.get().close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", default="", help="names that contain this, or the path of one folder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--number", type=int, default=0, help="take so many of them, spread over all")
    chosen = parser.parse_args()
    wanted = [c for c in cases() if chosen.only in f"{c.name}/{c.script}"]
    wanted = wanted[:: max(1, len(wanted) // chosen.number)] if chosen.number else wanted
    outcomes = []
    for found in compared(wanted, chosen.times, chosen.jobs):
        outcomes.append(found)
        if found.unchanged or not found.same:
            why = f"; {found.meant}" if found.meant else ""
            print(f"{found.case.name}/{found.case.script}: {found.said()} ({found.seconds:.0f} s){why}", flush=True)
    left = [o for o in outcomes if o.unchanged]
    meant = [o for o in outcomes if not o.same and o.meant]
    different = [o for o in outcomes if not o.same and not o.meant]
    print(
        f"{len(outcomes)} scripts, {len(left)} not lengthened, {len(meant)} meant to differ, "
        f"{len(different)} differ at {chosen.times} times"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
