"""The process that has torch imported, and forks one child for every attempt: `python -P -m whygrad.learn.worker`.

Importing torch takes two seconds, a fork some milliseconds. Nothing here may start a thread or run an operation of
torch before a fork: the child would wait for threads that were not copied.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
from json import dumps, loads
from pathlib import Path
from typing import Any

from whygrad.learn import attempt, tampering
from whygrad.learn.job import Job
from whygrad.learn.tampering import Change

MOST_OUTPUT = 4000
LARGEST_FILE = 16 * 2**20
LOOK = 0.005
"""Seconds between two looks at a child."""
GRACE = 1.0
"""Seconds after the limit in which a stuck child can say where it is."""


def main() -> int:
    """Jobs come as lines of JSON, outcomes go back as lines of JSON."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Takes the child along.
    attempt.preload()
    tampered, later = _sealed(), dict(attempt.LATER)
    _reply(replies, {"ready": True})
    for line in sys.stdin:
        job = Job(**loads(line))
        for wanted in [wanted for wanted in later if wanted(job)]:
            later.pop(wanted)()
            tampered = _sealed()
        _reply(replies, supervised(job, tampered))
    return 0


def _sealed() -> Change:
    """What is there now stays for good: a collector that walks through it would copy it into every child."""
    gc.freeze()
    return tampering.seal()


def _reply(replies: Any, data: dict[str, Any]) -> None:
    replies.write(dumps(data) + "\n")
    replies.flush()


def supervised(job: Job, tampered: Change) -> dict[str, Any]:
    """Run it in a child; whatever that does, an outcome comes back within the limit."""
    began = time.monotonic()
    receiving, sending = os.pipe()
    with tempfile.TemporaryDirectory(prefix="whygrad-learn-", ignore_cleanup_errors=True) as scratch:
        pid = os.fork()
        if pid == 0:
            os.close(receiving)
            _child(job, tampered, sending, Path(scratch))
        os.close(sending)
        try:
            text, status = _received(receiving, pid, began + job.limit + GRACE)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # Also what it may have started.
        if status is None:
            status = os.waitpid(pid, 0)[1]
        outcome = {"answers": _parsed(text), "status": os.waitstatus_to_exitcode(status)}
        outcome["output"] = _read(Path(scratch) / "output")[:MOST_OUTPUT]
        stuck = _read(Path(scratch) / "stuck")
    outcome["timed_out"] = outcome["answers"] is None and (bool(stuck) or time.monotonic() - began > job.limit)
    outcome["line"] = _stuck_at(stuck, job.file)
    outcome["seconds"] = time.monotonic() - began
    return outcome


def _child(job: Job, tampered: Change, sending: int, scratch: Path) -> None:
    """Never returns. Nothing of the worker's may be run by the learner's code: not its handlers, not its pipes."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        os.chdir(scratch)
        output = os.open("output", os.O_WRONLY | os.O_CREAT)
        for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
            os.dup2(source, number)
        os.closerange(3, sending)
        os.closerange(sending + 1, os.sysconf("SC_OPEN_MAX"))  # Above all the worker's own way to answer.
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("stuck", "w") as stuck:
            faulthandler.dump_traceback_later(job.limit, exit=True, file=stuck)
            text = dumps(attempt.run(job, tampered))
            faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
        with open(sending, "w", encoding="utf-8") as pipe:
            pipe.write(text)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _received(receiving: int, pid: int, deadline: float) -> tuple[str, int | None]:
    """All that the child sends until it ends or the time is over, and how it ended. The end of the pipe says nothing:
    processes that the child has started may hold it open."""
    parts: list[bytes] = []
    ended, status = 0, 0
    with open(receiving, "rb", buffering=0) as pipe:
        while not ended and time.monotonic() < deadline:
            ended, status = os.waitpid(pid, os.WNOHANG)
            while select.select([pipe], [], [], 0)[0] and (part := pipe.read(65536)):
                parts.append(part)
            time.sleep(0 if ended else LOOK)
    return b"".join(parts).decode("utf-8", "replace"), status if ended else None


def _parsed(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return None


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _stuck_at(traceback: str, file: str) -> int | None:
    """The innermost line of the learner's file in a dumped traceback."""
    found = re.search(rf'File "{re.escape(file)}", line (\d+)', traceback)
    return int(found[1]) if found else None


if __name__ == "__main__":
    sys.exit(main())
