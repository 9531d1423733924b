"""How the reference agents learn: several seeds each, medians, and the curves as a picture.

    python benchmarks/agents.py --json agents.json --svg docs/agents/curves.svg

Each number is the mean return of the last 20 episodes of a training run, exploration included, with the settings that
`train` takes by itself for the environment. One thread; about six minutes of processor time for five seeds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import torch

EPISODES = 20


@dataclass(frozen=True)
class Task:
    """What is learned, for how long, and what the median has to reach."""

    agent: str
    env: str
    steps: int
    goal: float


TASKS = (
    Task("dqn", "CartPole-v1", 50_000, 150),
    Task("ppo", "CartPole-v1", 50_000, 175),
    Task("a2c", "CartPole-v1", 50_000, 150),
    Task("reinforce", "CartPole-v1", 100_000, 150),
    Task("sac", "Pendulum-v1", 8_000, -200),
    Task("ppo", "Pendulum-v1", 100_000, -400),
)


def measure(task: Task, seeds: int) -> dict[str, Any]:
    module = importlib.import_module(f"whygrad.agents.{task.agent}")
    finals, runs = [], []
    began = time.process_time()
    for seed in range(1, seeds + 1):
        print(f"\r\x1b[K{task.agent} on {task.env}, seed {seed} of {seeds}", end="", file=sys.stderr, flush=True)
        result = module.train(task.env, steps=task.steps, seed=seed)
        finals.append(result.recent(EPISODES))
        runs.append(smoothed(result.returns))
    print("\r\x1b[K", end="", file=sys.stderr)
    return {
        **vars(task),
        "finals": finals,
        "median": statistics.median(finals),
        "seconds": (time.process_time() - began) / seeds,
        "curves": runs,
    }


def smoothed(returns: Sequence[tuple[int, float]], points: int = 120) -> list[tuple[int, float]]:
    """The mean of the last episodes, at so many places at most."""
    values = [value for _, value in returns]
    out = []
    for index in range(0, len(values), max(1, len(values) // points)):
        window = values[max(0, index + 1 - EPISODES) : index + 1]
        out.append((returns[index][0], sum(window) / len(window)))
    return out


# -- the picture

PANEL_WIDTH, PANEL_HEIGHT, COLUMNS, MARGIN, TITLE = 260, 150, 3, 46, 34
COLOURS = ("#2a6fb0", "#d9822b", "#3f8f4f", "#8a5ab0", "#b0413e", "#5c6770", "#a08a1e")


def picture(rows: list[dict[str, Any]]) -> str:
    height = (len(rows) + COLUMNS - 1) // COLUMNS * (PANEL_HEIGHT + TITLE + 34) + 10
    width = COLUMNS * (PANEL_WIDTH + MARGIN) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" style="font-family:system-ui,sans-serif">',
        "<title>Returns of the reference agents while they learn, one line per seed</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, row in enumerate(rows):
        left = MARGIN + number % COLUMNS * (PANEL_WIDTH + MARGIN)
        top = TITLE + number // COLUMNS * (PANEL_HEIGHT + TITLE + 34)
        parts += panel(row, left, top)
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(row: dict[str, Any], left: float, top: float) -> list[str]:
    values: list[float] = [value for run in row["curves"] for _, value in run] + [row["goal"]]
    low, high, steps = min(values), max(values), float(row["steps"])

    def x(step: float) -> float:
        return left + PANEL_WIDTH * step / steps

    def y(value: float) -> float:
        return top + PANEL_HEIGHT * (high - value) / (high - low)

    goal = y(row["goal"])
    out = [
        text(left, top - 10, f"{row['agent']} on {row['env']}: median {row['median']:.0f}", 13),
        f'<rect x="{left}" y="{top}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#d8dde3"/>',
        f'<line x1="{left}" y1="{goal:.1f}" x2="{left + PANEL_WIDTH}" y2="{goal:.1f}" stroke="#999" '
        'stroke-dasharray="4 3"/>',
        text(left - 6, top + 10, f"{high:.0f}", 10, "end"),
        text(left - 6, top + PANEL_HEIGHT, f"{low:.0f}", 10, "end"),
        text(left - 6, goal + 4, f"{row['goal']:.0f}", 10, "end"),
        text(left + PANEL_WIDTH, top + PANEL_HEIGHT + 14, f"{row['steps']:,} steps", 10, "end"),
    ]
    for colour, run in zip(COLOURS * len(row["curves"]), row["curves"], strict=False):
        line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in run)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.2"/>')
    return out


def text(x: float, y: float, words: str, size: int, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#333" text-anchor="{anchor}">{escape(words)}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each (%(default)s)")
    parser.add_argument("--only", help="one agent")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the numbers here")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="draw the curves here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for task in TASKS:
        if options.only in (None, task.agent):
            row = measure(task, options.seeds)
            rows.append(row)
            finals = ", ".join(f"{value:.0f}" for value in row["finals"])
            numbers = f"{task.steps:7,} steps, median {row['median']:7.1f} (goal {task.goal:.0f})"
            verdict = "" if row["median"] >= task.goal else "  MISSED"
            ending = f"seeds: {finals}; {row['seconds']:.0f} s each{verdict}"
            print(f"{task.agent:10}{task.env:12} {numbers}; {ending}", flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if options.svg is not None:
        options.svg.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
