"""What seeing gradients costs: whygrad against what people paste into their scripts.

    python benchmarks/telemetry.py [--rounds 10] [--seconds 1.0] [--device cuda] [--json FILE]

Every contestant runs for some time in every round, so that the machine's noise hits all alike; the ratio of
medians to the plain loop is printed with a bootstrap confidence interval. On a GPU the same is done with larger
networks, and updates that are all sampled are run once in a mode in which every wait for the device raises.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from overhead import interval
from whygrad.capture.torch import Capture, Options
from workloads import Between, Workload, nothing, workloads

Contestant = Callable[[Workload], AbstractContextManager[Between]]
LEAST = 100
"""Updates before the clock starts: the window has closed and steps are no longer looked at one by one."""
WARM = 0.6
"""Seconds before the clock starts: the early samples are over."""


def _capture(budget: float) -> Contestant:
    @contextlib.contextmanager
    def watching(_: Workload) -> Iterator[Between]:
        capture = Capture(Options(budget=budget))
        capture.start()
        try:
            yield nothing
        finally:
            capture.detach()
            assert capture.guard.broken is None

    return watching


@contextlib.contextmanager
def plain(_: Workload) -> Iterator[Between]:
    yield nothing


@contextlib.contextmanager
def norms(workload: Workload) -> Iterator[Between]:
    def between() -> None:
        for parameter in workload.model.parameters():
            if parameter.grad is not None:
                parameter.grad.norm().item()

    yield between


@contextlib.contextmanager
def tensorboard(workload: Workload) -> Iterator[Between]:
    from torch.utils.tensorboard import SummaryWriter

    with tempfile.TemporaryDirectory() as folder, contextlib.closing(SummaryWriter(folder)) as writer:
        count = [0]

        def between() -> None:
            count[0] += 1
            for name, parameter in workload.model.named_parameters():
                if parameter.grad is not None:
                    writer.add_histogram(name, parameter.grad, count[0])

        yield between


@contextlib.contextmanager
def anomaly(_: Workload) -> Iterator[Between]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            yield nothing


def _wandb(frequency: int | None) -> Contestant:
    @contextlib.contextmanager
    def watching(workload: Workload) -> Iterator[Between]:
        import wandb

        with tempfile.TemporaryDirectory() as folder:
            settings = wandb.Settings(silent=True, console="off")
            run = wandb.init(mode="offline", dir=folder, settings=settings, reinit="finish_previous")
            options: dict[str, Any] = {"log": "all", "log_freq": frequency} if frequency is not None else {}
            run.watch(workload.model, **options)
            yield lambda: run.log({"step": 1})
            run.unwatch(workload.model)
            run.finish(quiet=True)

    return watching


def contestants() -> dict[str, Contestant]:
    found: dict[str, Contestant] = {
        "plain": plain,
        "whygrad": _capture(0.02),
        "whygrad, every update": _capture(1.0),
        "norm().item() loop": norms,
        "detect_anomaly": anomaly,
    }
    if importlib.util.find_spec("tensorboard") is not None:
        found["TensorBoard histograms"] = tensorboard
    if importlib.util.find_spec("wandb") is not None:
        found["wandb.watch(log='all', log_freq=1)"] = _wandb(1)
        found["wandb.watch()"] = _wandb(None)
    return found


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def timed(workload: Workload, between: Between, seconds: float, device: str) -> float:
    """Seconds per update."""
    for length, least in ((min(WARM, 2 * seconds), LEAST), (seconds, 3)):
        _wait(device)
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < length or count < least:
            workload.update(between)
            count += 1
            if count % 8 == 0:
                _wait(device)  # Else the host would run ahead and measure only itself.
        _wait(device)
        taken = (time.perf_counter() - start) / count
    return taken


def measure(
    workload: Workload, entered: dict[str, Contestant], rounds: int, seconds: float, device: str
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in entered}
    for _ in range(rounds):
        for name, contestant in entered.items():
            with contestant(workload) as between:
                times[name].append(timed(workload, between, seconds, device))
    return times


def never_waits(workload: Workload) -> int:
    """Sample every update while every wait for the device is an error; the number of records that arrived."""
    records: list[Any] = []
    capture = Capture(Options(budget=1.0, trace="off", emit=records.append))
    capture.start()
    for _ in range(5):
        workload.update(nothing)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(20):
            workload.update(nothing)
    finally:
        torch.cuda.set_sync_debug_mode("default")
        capture.stop()
    if capture.guard.broken is not None:
        raise RuntimeError(f"{workload.name}: {capture.guard.broken}")
    return len(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0, help="per contestant and round (default: 1.0)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="*", default=[], help="contestants beside the plain loop (default: all)")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("WANDB_SILENT", "true")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU, one thread"
    print(f"torch {torch.__version__}, {where}, {arguments.rounds} interleaved rounds of {arguments.seconds} s each")
    entered = {n: c for n, c in contestants().items() if n == "plain" or not arguments.only or n in arguments.only}
    rows = []
    for workload in workloads(arguments.device):
        times = measure(workload, entered, arguments.rounds, arguments.seconds, arguments.device)
        bare = sorted(times["plain"])[len(times["plain"]) // 2]
        print(f"\n{workload.name}: plain {1000 * bare:.3f} ms")
        for name, values in times.items():
            ratio, low, high = interval(times["plain"], values)
            print(f"| {name} | {ratio:.3f}× ({low:.3f}–{high:.3f}) |", flush=True)
        rows.append({"workload": workload.name, "times": times})
        if arguments.device == "cuda":
            print(f"no wait for the device in 20 sampled updates; {never_waits(workload)} records", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
