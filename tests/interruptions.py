"""Interrupts and asynchronous exceptions at random moments of a watched run: none may be lost, doubled or ours.

    python tests/interruptions.py [--number 300] [--seed 0] [--jobs 2]

Half of them land while the script trains and catches them, a sixth end it, a third land after its last line, while the
report is made: how long that takes is measured first. `interrupt` is SIGINT, as Ctrl-C sends it; `exception` is one
that a thread raises in the main one, as timeouts are made. One that came after everything was written and said is
counted apart, and another one is sent for it: then nobody is there to hear it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import whygrad

HOME = str(Path(whygrad.__file__).parent)
HOWS = ("interrupt", "exception")
MANY = 25
"""Sent one after the other to a script that catches them."""
LONGEST = 120.0
SCRIPT = """
import ctypes, faulthandler, json, os, random, signal, sys, threading, time

import torch

how, when, number, seed, within = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
moments = random.Random(seed)
main = threading.get_ident()
caught = 0


class Timeout(Exception):
    pass


def send():
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(Timeout))


def one_after_the_other():
    for sent in range(number):
        patience = time.monotonic() + 20
        while caught < sent:
            time.sleep(0.001)
            if time.monotonic() > patience:
                print(caught, flush=True)
                faulthandler.dump_traceback()
                os._exit(1)  # The one before was lost.
        time.sleep(moments.uniform(0.002, 0.05))
        send()


def once():
    time.sleep(moments.uniform(0.0, within))
    send()
    at = time.time_ns()
    with open("sent", "w") as file:
        file.write(str(at))


sys.setswitchinterval(1e-5)  # The report takes a hundredth of a second: any of its moments can be met.
torch.manual_seed(0)
torch.set_num_threads(1)
policy = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


def update():
    states = torch.randn(16, 4)
    chosen = torch.distributions.Categorical(logits=policy(states))
    actions = chosen.sample()
    loss = -(chosen.log_prob(actions) * torch.randn(16)).mean() - 0.01 * chosen.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()


for _ in range(20):
    update()
with open("trained", "w") as file:
    file.write(str(time.time_ns()))
threading.Thread(target=one_after_the_other if when == "caught" else once, daemon=True).start()
while when != "report" and caught < number:
    try:
        while True:
            update()
    except (KeyboardInterrupt, Timeout):
        if when == "ends":
            raise
        caught += 1
print(caught)
"""


@dataclass(frozen=True)
class Trial:
    how: str
    """`interrupt` or `exception`."""
    when: str
    """`caught` and `ends` while the script trains, `report` after its last line."""
    number: int
    seed: int
    tracing: str = "auto"
    within: float = 0.4
    """Seconds in which a single one is sent."""


@dataclass(frozen=True)
class Result:
    trial: Trial
    heard: int
    """How many of the trial's interruptions had their effect."""
    late: bool
    """It came when everything had been written."""
    complaints: tuple[str, ...]


def trials(number: int, seeds: random.Random, report_seconds: float) -> Iterator[Trial]:
    """So many of each kind: half caught, a sixth that end the script, a third during the report."""
    for how in HOWS:
        caught, report = number // 2, number // 3
        for first in range(0, caught, MANY):
            tracing = "always" if first // MANY % 2 else "auto"
            yield Trial(how, "caught", min(MANY, caught - first), seeds.getrandbits(32), tracing)
        for _ in range(number - caught - report):
            yield Trial(how, "ends", 1, seeds.getrandbits(32))
        yield from during_the_report(how, report, seeds, report_seconds)


def during_the_report(how: str, times: int, seeds: random.Random, report_seconds: float) -> Iterator[Trial]:
    for _ in range(times):
        yield Trial(how, "report", 1, seeds.getrandbits(32), within=report_seconds)


def report_seconds(tries: int = 5) -> float:
    """From the script's last line to the report's last file: the longest of a few runs that nothing interrupts."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        longest = 0.0
        for _ in range(tries):
            _run(Trial("exception", "report", 0, 0, within=LONGEST), folder)
            written = (folder / ".whygrad" / "last.html").stat().st_mtime_ns
            longest = max(longest, (written - int((folder / "trained").read_text())) / 1e9)
    return longest


def attempt(trial: Trial) -> Result:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        return _judged(trial, folder, _run(trial, folder))


def _run(trial: Trial, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    words = [trial.how, trial.when, str(trial.number), str(trial.seed), str(trial.within)]
    return subprocess.run(
        [sys.executable, "-m", "whygrad", "run", "--trace", trial.tracing, "train.py", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )


def _judged(trial: Trial, folder: Path, done: subprocess.CompletedProcess[str]) -> Result:
    late = _late(folder)
    complaints = [f"whygrad's own frames: {row.strip()}" for row in done.stderr.splitlines() if f'File "{HOME}' in row]
    complaints += _whole(folder / ".whygrad" / "last.json")
    if "internal error" in done.stderr:
        complaints.append("an internal error")
    if trial.when == "caught":
        heard = int(done.stdout or 0)
        complaints += [f"heard {heard} of {trial.number}: {done.stderr[-2000:]}"] if heard != trial.number else []
        complaints += [f"status {done.returncode}"] if done.returncode else []
        return Result(trial, heard, False, tuple(complaints))
    wanted = -signal.SIGINT if trial.how == "interrupt" else 1
    heard = int(done.returncode == wanted)
    name = "KeyboardInterrupt" if trial.how == "interrupt" else "Timeout"
    told = sum(row.split(":")[0].rpartition(".")[2] == name for row in done.stderr.splitlines())
    # Ctrl-C while the report is made hurries it and ends the process by the signal: there is no traceback to show.
    shown = 0 if (trial.how, trial.when) == ("interrupt", "report") else 1
    if not heard and not late:
        complaints.append(f"lost: status {done.returncode}, {done.stderr[-300:]!r}")
    if heard and told != shown:
        complaints.append(f"shown {told} times instead of {shown}: {done.stderr[-600:]!r}")
    return Result(trial, heard, late and not heard, tuple(complaints))


def _late(folder: Path) -> bool:
    """Whether the last file had been put in its place when the interruption was sent, or there was no time to say."""
    sent, page = folder / "sent", folder / ".whygrad" / "last.html"
    if not sent.exists() or not sent.read_text():
        return True
    return page.exists() and page.stat().st_mtime_ns <= int(sent.read_text())


def _whole(last: Path) -> list[str]:
    try:
        report = json.loads(last.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"last.json: {error}"]
    return [] if report["updates"] >= 20 and report["verdict"] else ["last.json lacks what was seen"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    seeds = random.Random(asked.seed)
    seconds = report_seconds()
    print(f"the report takes {seconds:.3f} s", flush=True)
    heard: Counter[tuple[str, str]] = Counter()
    late: Counter[tuple[str, str]] = Counter()
    wrong = 0
    waiting = list(trials(asked.number, seeds, seconds))
    with ThreadPoolExecutor(asked.jobs) as pool:
        while waiting:
            for result in pool.map(attempt, waiting):
                kind = result.trial.how, result.trial.when
                heard[kind] += result.heard
                late[kind] += result.late
                wrong += bool(result.complaints)
                for complaint in result.complaints:
                    print(f"{result.trial}: {complaint}", flush=True)
            again = [(how, asked.number // 3 - heard[how, "report"]) for how in HOWS if not wrong]
            waiting = [trial for how, times in again for trial in during_the_report(how, times, seeds, seconds)]
    for kind in heard:
        print(f"{' '.join(kind)}: {heard[kind]} heard, {late[kind]} after the end")
    print(f"{wrong} trials with complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
