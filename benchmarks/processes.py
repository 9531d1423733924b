"""What watching costs a whole process, from its start to the end of its report: plain and watched runs in turn.

    python benchmarks/processes.py [--rounds 5] [NAME ...]

Time is the processor's, of all threads, so that a busy machine disturbs little; wall time stands beside it. The scripts
in `processes/` are written as such scripts usually are. Each has a limit for the quotient of the two times, and the
first one for the difference, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).parent / "processes"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # Installed packages are compiled; a checkout is at its first import.


@dataclass(frozen=True)
class Workload:
    name: str
    script: str
    arguments: tuple[str, ...]
    limit: float
    seconds: float = float("inf")
    """Limit of the difference."""


WORKLOADS = (
    Workload("PPO on CartPole, 25,000 steps", "ppo_cartpole.py", (), 1.3, 2.0),
    Workload("token policy, 100 updates", "token_policy.py", (), 1.3),
    Workload("60,000 acting steps, no update", "dqn_late_start.py", ("--starts", "60000", "--updates", "0"), 1.15),
    Workload("300 updates of a small DQN", "dqn_late_start.py", ("--starts", "200", "--updates", "300"), 1.5),
)


@dataclass
class Times:
    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, command: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before, start = os.times(), time.perf_counter()
            subprocess.run(
                [sys.executable, *command],
                cwd=folder,
                env=ENVIRONMENT,
                capture_output=True,
                check=True,
            )
            after = os.times()
        self.wall.append(time.perf_counter() - start)
        spent = after.children_user + after.children_system
        self.processor.append(spent - before.children_user - before.children_system)


def measure(workload: Workload, rounds: int) -> tuple[Times, Times]:
    plain, watched = Times(), Times()
    command = [str(SCRIPTS / workload.script), *workload.arguments]
    for number in range(rounds):
        pair = [(plain, command), (watched, ["-m", "whygrad", "run", "--fail-on", "never", *command])]
        for times, started in pair if number % 2 else reversed(pair):
            times.add(started)
    return plain, watched


def row(workload: Workload, plain: Times, watched: Times) -> str:
    one, two = statistics.median(plain.processor), statistics.median(watched.processor)
    lowest, *_, highest = sorted(w / p for p, w in zip(plain.processor, watched.processor, strict=True))
    kept = two / one <= workload.limit and two - one <= workload.seconds
    wall = f"{statistics.median(plain.wall):.1f} → {statistics.median(watched.wall):.1f}"
    return (
        f"| {workload.name} | {one:.2f} → {two:.2f} | {two / one:.2f} ({lowest:.2f}–{highest:.2f}) | {wall} "
        f"| {workload.limit} | {'yes' if kept else 'no'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each, at least 2")
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of names")
    asked = parser.parse_args()
    chosen = [w for w in WORKLOADS if w.name.startswith(tuple(asked.names) or "")]
    print("| | processor time, s | quotient of the medians (each pair's) | wall time, s | limit | kept |")
    print("|---|---|---|---|---|---|")
    for workload in chosen:
        print(row(workload, *measure(workload, max(2, asked.rounds))), flush=True)


if __name__ == "__main__":
    main()
