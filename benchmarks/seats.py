"""A process per contestant, which runs a round when it is asked to.

Switching a watcher on and off in one process changes torch's classes each time, and CPython forgets what it has learnt
about them: the plain rounds pay, too. In processes of their own each is as it is in a run. They are forked from one
parent (same addresses), and pinned to one core (same caches and clock), where only one of them runs at a time. What is
as cheap as whygrad needs more: there bare rounds are measured in the same process, with the ways into it closed. The
two alternate every few updates: rounds of 2.5 ms instead of 40 ms make the interval of the ratio four times as narrow.
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
FEWEST_SETTLED, LONGEST_SETTLING = 60, 20.0
SETTLING = 20
"""Updates before a round, where another process had the caches."""


@dataclass(frozen=True)
class Pair:
    """A watched round next to a bare one in the same process, seconds per update."""

    watched: float
    bare: float
    weight: float
    """Of the watched round: it is longer where a window had to close first."""
    retraced: bool


@dataclass(frozen=True)
class Answer:
    """To one request."""

    pairs: list[Pair]
    account: str
    """What the contestant says about its own cost."""


@dataclass(frozen=True)
class Request:
    """Rounds of so many updates; without pairs it is one round, with the contestant on."""

    updates: int
    pairs: int = 0
    settling: int = SETTLING
    """Updates before each round that are not timed."""


class Seat:
    def __init__(self, device: str, workload: str, entry: Entry) -> None:
        context = multiprocessing.get_context("spawn" if device == "cuda" else "fork")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_sit, args=(theirs, device, workload, entry), daemon=True)  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()
        self._answer()

    def round(self, updates: int) -> float:
        """Seconds per update."""
        found = self._ask(Request(updates))
        assert isinstance(found, float)
        return found

    def pairs(self, updates: int, count: int, settling: int) -> Answer:
        found = self._ask(Request(updates, count, settling))
        assert isinstance(found, Answer)
        return found

    def _ask(self, request: Request) -> object:
        self.line.send(request)
        return self._answer()

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
    while (asked := line.recv()) is not None:
        if asked.pairs:
            line.send(Answer(_alternate(contestant, asked, clock), contestant.account))
        else:
            line.send(timed(contestant, asked.updates, clock))
    contestant.close()


def _alternate(contestant: Contestant, asked: Request, clock: Callable[[], float]) -> list[Pair]:
    plain = Contestant(contestant.workload)
    found = []
    timed(contestant, asked.updates, clock)  # The caches are the other processes' until now.
    for number in range(asked.pairs):
        windows = contestant.windows
        if number % 2:
            bare = _aside(contestant, plain, asked, clock)
        watched, count = counted(contestant, asked.updates, clock, asked.settling)
        if not number % 2:
            bare = _aside(contestant, plain, asked, clock)
        found.append(Pair(watched, bare, count / asked.updates, contestant.windows != windows))
    return found


def _aside(contestant: Contestant, plain: Contestant, asked: Request, clock: Callable[[], float]) -> float:
    contestant.aside()
    seconds, _ = counted(plain, asked.updates, clock, asked.settling)
    contestant.back()
    return seconds


def timed(contestant: Contestant, updates: int, clock: Callable[[], float]) -> float:
    return counted(contestant, updates, clock, SETTLING)[0]


def counted(contestant: Contestant, updates: int, clock: Callable[[], float], settling: int) -> tuple[float, int]:
    """Seconds per update, and how many there were."""
    update, between = contestant.workload.update, contestant.between
    contestant.begin()
    for _ in range(settling):
        update(between)
    wait()
    count, start = 0, clock()
    while count < updates or contestant.busy:
        update(between)
        count += 1
    wait()
    taken = (clock() - start) / count
    contestant.end()
    return taken, count


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
