"""The worker, seen from outside: started when it is first needed, asked one job at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from types import TracebackType
from typing import Any

from whygrad.learn.job import Answers, Job, Outcome, Raised

ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "CUDA_VISIBLE_DEVICES": "",  # The same on every machine, and a GPU does not survive a fork.
    "PYTHONIOENCODING": "utf-8",
}
MODULE = "whygrad.learn.worker"


class WorkshopError(RuntimeError):
    """Nothing can be checked here: no torch, no fork."""


class Workshop:
    """A context manager; leaving it ends the worker."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()  # An attempt that is under way is of no use to anybody.
            self._process.communicate()
            self._process = None

    def start(self) -> None:
        """Begin to import torch, without waiting for it. -P: a learner's folder may hold a file called torch.py."""
        if not hasattr(os, "fork"):
            raise WorkshopError("whygrad learn runs exercises in forked processes, which this system does not have")
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env={**os.environ, **ENVIRONMENT},
                start_new_session=True,  # Ctrl-C is for us.
            )
            self._waiting = True

    def run(self, job: Job) -> Outcome:
        self.start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        if self._waiting:
            self._reply(process)
            self._waiting = False
        process.stdin.write(json.dumps(asdict(job)) + "\n")
        process.stdin.flush()
        return _outcome(self._reply(process))

    def _reply(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, said = process.communicate()
            self._process = None
            last = (said.strip().splitlines() or ["it ended without a word"])[-1]
            raise WorkshopError(f"the process that runs exercises could not go on: {last}")
        reply: dict[str, Any] = json.loads(line)
        return reply


def _outcome(reply: dict[str, Any]) -> Outcome:
    """Answers that do not look like ours are none."""
    answers = reply.pop("answers")
    try:
        raised = answers.pop("raised")
        told: Answers | None = Answers(**answers, raised=None if raised is None else Raised(**raised))
    except (TypeError, AttributeError, KeyError):
        told = None
    return Outcome(answers=told, **reply)
