"""How the report grows: its time and memory against the size of what was watched.

    python benchmarks/scaling.py [AXIS ...] [--quick] [--sizes N ...] [--limit SECONDS] [--json FILE]

Axes: operations, rollout, sites, parameters, lines (`benchmarks/growing.py` writes their scripts). Each script runs in
a process of its own, once plainly and once under `whygrad run`; both note what they have used up at their last line.
The report's time is the processor time after that line (assembling, rules, report, JSON and page), less what the plain
run takes to end. The exponent is that of a line through the larger half of the sizes, both axes in logarithms, so that
the constant part does not flatter it. With `--quick` only the smaller sizes run, and nothing is fitted.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from growing import AXES, Axis

STEEPEST = 1.15
"""The exponent that is aimed at."""
QUICK = 3
ALONE = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Used:
    """What one process has used: until the script's last line, and in all."""

    seconds: float
    peak: float
    all_seconds: float
    all_peak: float
    """Of its memory, in MiB."""

    @property
    def afterwards(self) -> float:
        return self.all_seconds - self.seconds


@dataclass(frozen=True)
class Point:
    """One size of one axis."""

    axis: str
    size: int
    plain: float
    """Seconds of processor time, of the whole process."""
    watched: float
    report: float
    memory: float
    """MiB above the highest that the watched script had reached itself."""
    over: float
    """The same above the plain run."""


class TooLongError(Exception):
    """No end within the limit."""


def run(arguments: list[str], folder: Path, limit: float) -> Used:
    """One process; its children's times are not looked at, since it has none."""
    mark = folder / "mark.json"
    mark.unlink(missing_ok=True)
    environment = {**os.environ, **ALONE, "GROWING_MARK": str(mark)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # As an installed package is.
    with open(folder / "said.txt", "w") as said:
        process = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=said, stderr=said)
        alarm = threading.Timer(limit, process.kill)
        alarm.start()
        _, status, use = os.wait4(process.pid, 0)
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -9:
        raise TooLongError(f"no end after {limit:g} s")
    if not mark.exists():
        raise SystemExit((folder / "said.txt").read_text())
    seconds, peak = json.loads(mark.read_text())
    return Used(seconds, peak / 1024, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024)


def measured(axis: Axis, size: int, limit: float) -> Point:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "grown.py").write_text(axis.written(size))
        plain = run([sys.executable, "grown.py"], folder, limit)
        watching = [sys.executable, "-m", "whygrad", "run", "--fail-on", "never", "--deadline", str(limit)]
        watched = run([*watching, "grown.py"], folder, limit)
    return Point(
        axis.name,
        size,
        plain.all_seconds,
        watched.all_seconds,
        max(0.001, watched.afterwards - plain.afterwards),
        max(0.0, watched.all_peak - watched.peak),
        max(0.0, watched.all_peak - plain.all_peak),
    )


def exponent(points: list[Point]) -> float:
    """The slope of the line through the larger half, in logarithms."""
    half = points[len(points) // 2 - (len(points) % 2 == 0) :]
    across = [math.log(point.size) for point in half]
    up = [math.log(point.report) for point in half]
    middle, height = sum(across) / len(half), sum(up) / len(half)
    spread = sum((x - middle) ** 2 for x in across)
    return sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True)) / spread


def along(axis: Axis, sizes: list[int], limit: float) -> list[Point]:
    found: list[Point] = []
    for size in sizes:
        try:
            point = measured(axis, size, limit)
        except TooLongError as error:
            print(f"| {axis.what} | {size:,} | {error} | | | | |", flush=True)
            break
        print(row(axis, point), flush=True)
        found.append(point)
    return found


def row(axis: Axis, point: Point) -> str:
    times = f"{point.plain:.1f} s | {point.watched:.1f} s | {point.report:.2f} s"
    return f"| {axis.what} | {point.size:,} | {times} | {point.memory:.0f} MiB | {point.over:.0f} MiB |"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=", ".join(AXES))
    parser.add_argument("--quick", action="store_true", help=f"only the first {QUICK} sizes")
    parser.add_argument("--sizes", nargs="+", type=int, help="these instead")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one process (default: 300)")
    parser.add_argument("--json", type=Path, help="store what was measured")
    chosen = parser.parse_args()
    unknown = set(chosen.axes) - AXES.keys()
    if unknown:
        parser.error(f"no axis {', '.join(sorted(unknown))}; there are {', '.join(AXES)}")
    return chosen


def main() -> None:
    chosen = options()
    print("| what grows | size | plain | watched | of that the report | its memory | memory above plain |")
    print("|---|---|---|---|---|---|---|", flush=True)
    found: list[Point] = []
    said: list[str] = []
    for axis in [AXES[name] for name in chosen.axes] or list(AXES.values()):
        sizes = chosen.sizes or list(axis.sizes[:QUICK] if chosen.quick else axis.sizes)
        points = along(axis, sizes, chosen.limit)
        found += points
        fitted = [point for point in points if point.size <= axis.largest]
        if len(fitted) > 2 and not chosen.quick:
            slope = exponent(fitted)
            said.append(f"{axis.what}: exponent {slope:.2f}" + ("" if slope <= STEEPEST else f", above {STEEPEST}"))
    print("\n" + "\n".join(said))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([dataclasses.asdict(point) for point in found], indent=1))


if __name__ == "__main__":
    main()
