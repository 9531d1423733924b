"""The process that has torch imported, and forks one child for every attempt: `python -P -m whygrad.learn.worker`.

Importing torch takes two seconds, a fork some milliseconds. Nothing here may start a thread or run an operation of
torch before a fork: the child would wait for threads that were not copied.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from whygrad.learn import attempt, tampering
from whygrad.learn.job import Job
from whygrad.learn.tampering import Change

MOST_OUTPUT = 4000
LARGEST_FILE = 16 * 2**20
GRACE = 1.0
"""Seconds after the limit in which a stuck child can say where it is."""


def main() -> int:
    """Jobs come as lines of JSON, outcomes go back as lines of JSON."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    attempt.preload()
    tampered, optimizers = tampering.seal(), False
    _reply(replies, {"ready": True})
    for line in sys.stdin:
        job = Job(**json.loads(line))
        if not optimizers and attempt.optimizes(job):
            attempt.preload_optimizers()
            tampered, optimizers = tampering.seal(), True
        _reply(replies, supervised(job, tampered))
    return 0


def _reply(replies: Any, data: dict[str, Any]) -> None:
    replies.write(json.dumps(data) + "\n")
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
        text = _received(receiving, began + job.limit + GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # Also what it may have started.
        _, status = os.waitpid(pid, 0)
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
        os.setsid()
        os.chdir(scratch)
        output = os.open("output", os.O_WRONLY | os.O_CREAT)
        for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
            os.dup2(source, number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("stuck", "w") as stuck:
            faulthandler.dump_traceback_later(job.limit, exit=True, file=stuck)
            text = json.dumps(attempt.run(job, tampered))
            faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
        with open(sending, "w", encoding="utf-8") as pipe:
            pipe.write(text)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _received(receiving: int, deadline: float) -> str:
    """All that the child sends until it closes the pipe, dies, or the time is over."""
    parts = []
    with open(receiving, "rb", buffering=0) as pipe:
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([pipe], [], [], left)
            part = pipe.read(65536) if ready else b""
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
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
