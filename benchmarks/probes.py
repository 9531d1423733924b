"""Do the probes discriminate? Agents that are right must pass, with every seed; each fault must fail its own probe and
no earlier one.

    python benchmarks/probes.py [--seeds 5] [--agents whygrad.agents.ppo sb3:PPO ...] [--faults WG903 Memory ...]

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

from probe_agents import ActorCritic, Dqn, Gaussian, Remembering
from probe_faults import FAULTS, LONGER, STEPS, TwoPlayers
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


def wrong(probed: str, fault: type, seeds: int) -> bool:
    """Whether every seed fails the one probe of this code or name, and nothing else."""
    reports = [probe(fault, seed=seed, steps=LONGER.get(probed, STEPS), watch=False) for seed in range(seeds)]
    failed = [[v.code if probed.startswith("WG") else v.probe.name for v in r.of("fail")] for r in reports]
    exact = failed.count([probed])
    others = [f"seed {n}: {', '.join(names) or 'passed'}" for n, names in enumerate(failed) if names != [probed]]
    print(f"{probed:<11}{fault.__name__:<32}{exact} of {seeds}   {'; '.join(others)}", flush=True)
    return exact == seeds


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--agents", nargs="*", help="probe these instead, and no faults")
    options.add_argument("--faults", nargs="*", help="those of these probes only: WG903, Memory")
    given = options.parse_args()
    if given.agents:
        for name in given.agents:
            right(name, given.seeds, 1000)
        return 0
    asked = {probed: faults for probed, faults in FAULTS.items() if given.faults is None or probed in given.faults}
    for agent in (Dqn, ActorCritic, Gaussian, Remembering, TwoPlayers):
        right(agent, given.seeds, LONGER["Memory"] if agent is Remembering else STEPS)
    outcomes = [wrong(probed, fault, given.seeds) for probed, faults in asked.items() for fault in faults]
    print(f"{sum(outcomes)} of {len(outcomes)} faults fail exactly their own probe with every seed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
