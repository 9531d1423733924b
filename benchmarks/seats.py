"""A process per contestant, which runs a round when it is asked to.

Switching a watcher on and off in one process changes torch's classes each time, and CPython forgets what it has learnt
about them: the plain rounds pay, too. In processes of their own each is as it is in a run. They are forked from one
parent (same addresses), and pinned to one core (same caches and clock), where only one of them runs at a time. What is
as cheap as whygrad needs more: there bare rounds are measured in the same process, with the ways into it closed.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch
import torch._dynamo  # The first optimizer of each process would import it: before they part, it is done once.

from contestants import Contestant, Entry
from workloads import Workload, workloads

SETTLED = 1100
"""Updates before anything is measured, if they do not take too long: by then windows are rare."""
FEWEST_SETTLED, LONGEST_SETTLING = 60, 5.0


@dataclass(frozen=True)
class Round:
    """What one round took."""

    seconds: float
    """Per update."""
    windows: int
    account: str


class Seat:
    def __init__(self, device: str, workload: str, entry: Entry) -> None:
        context = multiprocessing.get_context("spawn" if device == "cuda" else "fork")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_sit, args=(theirs, device, workload, entry), daemon=True)  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()
        self._answer()

    def round(self, updates: int, *, bare: bool = False) -> Round:
        self.line.send((updates, bare))
        found = self._answer()
        assert isinstance(found, Round)
        return found

    def leave(self) -> None:
        if self.process.is_alive():
            self.line.send(None)
            self.process.join(60)

    def _answer(self) -> object:
        try:
            found = self.line.recv()
        except EOFError:
            raise RuntimeError("its process ended") from None
        if isinstance(found, str):
            raise RuntimeError(found)
        return found


def _sit(line: Connection, device: str, workload: str, entry: Entry) -> None:
    try:
        _serve(line, device, workloads(device)[workload](), entry)
    except Exception as error:  # A peer that fails must not end the comparison.
        line.send(f"{type(error).__name__}: {error}")


def _serve(line: Connection, device: str, workload: Workload, entry: Entry) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if device == "cpu":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    clock = time.perf_counter if device == "cuda" else time.process_time
    contestant = entry(workload)
    _settle(contestant)
    line.send(None)
    plain = Contestant(workload)
    while (asked := line.recv()) is not None:
        updates, bare = asked
        if bare:
            contestant.aside()
            seconds = timed(plain, updates, clock)
            contestant.back()
        else:
            seconds = timed(contestant, updates, clock)
        line.send(Round(seconds, contestant.windows, contestant.account))
    contestant.close()


def timed(contestant: Contestant, updates: int, clock: Callable[[], float]) -> float:
    """Seconds per update."""
    update, between = contestant.workload.update, contestant.between
    contestant.begin()
    for _ in range(min(20, updates)):
        update(between)  # The caches are somebody else's.
    wait()
    count, start = 0, clock()
    while count < updates or contestant.busy:
        update(between)
        count += 1
    wait()
    taken = (clock() - start) / count
    contestant.end()
    return taken


def wait() -> None:
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()


def _settle(contestant: Contestant) -> None:
    count, start = 0, time.perf_counter()
    contestant.begin()
    while (
        contestant.busy
        or count < FEWEST_SETTLED
        or (count < SETTLED and time.perf_counter() - start < LONGEST_SETTLING)
    ):
        contestant.workload.update(contestant.between)
        count += 1
        wait()
    contestant.end()
