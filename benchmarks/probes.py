"""Do the probes discriminate? Agents that are right must pass, with every seed; each fault must fail its own probe and
no earlier one.

    python benchmarks/probes.py [--seeds 5] [--agents whygrad.agents.ppo sb3:PPO ...]

Takes some minutes on one core. Seconds are the median per training, without watching and with.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from probe_agents import ActorCritic, Dqn, Gaussian
from probe_faults import FAULTS, STEPS
from whygrad.probe import Report, probe

Agent = Callable[..., Any] | str


def right(agent: Agent, seeds: int, steps: int) -> None:
    """How often it passes, and how long a training takes."""
    reports = [probe(agent, seed=seed, steps=steps, watch=False) for seed in range(seeds)]
    failed = [f"{code} (seed {report.seed})" for report in reports for code in report.failed]
    watched = probe(agent, steps=steps)
    name = agent if isinstance(agent, str) else agent.__name__
    row = f"{name:<34}{sum(map(bool, reports))} of {seeds}   {_seconds(reports):.2f} s   {_seconds([watched]):.2f} s"
    print(f"{row}   {', '.join(failed)}", flush=True)


def _seconds(reports: list[Report]) -> float:
    taken = [v.seconds / len(v.probe.runs) for report in reports for v in report.verdicts if v.status != "skip"]
    return statistics.median(taken)


def wrong(code: str, fault: type, seeds: int) -> bool:
    reports = [probe(fault, seed=seed, steps=STEPS, watch=False) for seed in range(seeds)]
    exact = sum(report.failed == [code] for report in reports)
    others = [f"seed {r.seed}: {', '.join(r.failed) or 'passed'}" for r in reports if r.failed != [code]]
    print(f"{code}  {fault.__name__:<32}{exact} of {seeds}   {'; '.join(others)}", flush=True)
    return exact == seeds


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--agents", nargs="*", help="probe these instead, and no faults")
    given = options.parse_args()
    if given.agents:
        for name in given.agents:
            right(name, given.seeds, 1000)
        return 0
    for agent in (Dqn, ActorCritic, Gaussian):
        right(agent, given.seeds, STEPS)
    outcomes = [wrong(code, fault, given.seeds) for code, faults in FAULTS.items() for fault in faults]
    print(f"{sum(outcomes)} of {len(outcomes)} faults fail exactly their own probe with every seed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
