"""One attempt: the learner's code is run and looked at. This happens in the process that the code may do
anything to; what comes out is material for a judge elsewhere."""

from __future__ import annotations

import contextlib
import importlib.util
import random
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from types import CodeType
from typing import Any

from whygrad import config as configuration
from whygrad import rule
from whygrad.finding import Finding
from whygrad.learn.course import module
from whygrad.learn.job import Answers, Job, Raised
from whygrad.learn.plain import plain
from whygrad.learn.seeing import Code, WrongError
from whygrad.learn.tampering import Change
from whygrad.report.model import Report
from whygrad.session import Session

WATCHED_UPDATES = 5


def run(job: Job, tampered: Change) -> dict[str, Any]:
    """The answers as plain data."""
    answers = Answers(job.nonce)
    checks = module(job.checks, job.checks_file)
    sow(job.asked["seed"])
    session = Session(configuration.parse({"trace": job.watch, "updates": WATCHED_UPDATES, "budget": 0.0}, "learn"))
    try:
        compiled = compile(job.source, job.file, "exec", dont_inherit=True)
        with _watched(session, job, answers):
            answers.seen = plain(checks.observe(_executed(compiled, job.file), job.asked))
    except WrongError as error:
        answers.wrong = str(error)
    except BaseException as error:
        answers.raised = Raised(type(error).__name__, str(error), _line(error, job.file))
    answers.tampered = tampered()
    return asdict(answers)


def sow(seed: int) -> None:
    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    with contextlib.suppress(ImportError):
        import numpy as np

        np.random.seed(seed)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(seed)


def _executed(compiled: CodeType, file: str) -> Code:
    """The learner's file as an imported module: what it keeps for `__main__` is left out."""
    names = {"__name__": "exercise", "__file__": file, "__builtins__": __builtins__}
    exec(compiled, names)
    return Code(names)


@contextlib.contextmanager
def _watched(session: Session, job: Job, answers: Answers) -> Iterator[None]:
    try:
        with session:
            yield
    finally:
        report = session.report
        answers.updates = report.updates
        answers.findings = [_plainly(f) for f in report.loud if _concerns(f, job.file)]
        if answers.findings:
            answers.report = _rendered(report, job.file)


def _concerns(finding: Finding, file: str) -> bool:
    return finding.site is None or finding.site.file == file


def _rendered(report: Report, file: str) -> str:
    from whygrad.report.text import explained, flat

    rows = [line for f in report.loud if _concerns(f, file) for line in explained(f, report.source, 100)]
    return flat(rows)


def _plainly(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "line": finding.site.line if finding.site is not None else None,
        "message": finding.message,
        "here": finding.here,
        "why": finding.why,
        "fix": finding.fix,
        "raised": "raised" in finding.evidence,
    }


def _line(error: BaseException, file: str) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return rows[-1] if rows else None


PRELOADED = (
    "torch",
    "torch.distributions",
    "torch.fx.experimental.symbolic_shapes",  # torch 2.13 imports it, and sympy, at the first backward: half a second.
    "whygrad.capture.torch",
    "whygrad.report.text",
)
TENSORFLOW = ("tensorflow", "tensorflow.keras", "whygrad.capture.tensorflow", "whygrad.learn.taping")
"""Takes as long again as torch, and only the last track needs it."""
PROBES = "whygrad.probe.harness"
"""Needs gymnasium, which the first three tracks do not."""


def preload() -> None:
    """Import what attempts need, before the first of them is forked."""
    for name in PRELOADED:
        importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module(PROBES)
    rule.rules()


def preload_optimizers() -> None:
    """torch 2.13 imports a compiler with the first optimizer, which takes a second, and wraps `step` of its class.
    Exercises without an optimizer need not wait for that."""
    import torch

    torch.set_num_threads(1)  # Threads that are there before a fork are missing after it.
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        kind([torch.zeros(1, requires_grad=True)], lr=0.1)


def preload_tensorflow() -> None:
    """Importing it starts no thread; its first operation does, and that happens in the child."""
    for name in TENSORFLOW:
        importlib.import_module(name)


def tapes(job: Job) -> bool:
    return "tensorflow" in job.source + job.checks and importlib.util.find_spec("tensorflow") is not None


def optimizes(job: Job) -> bool:
    return "optim" in job.source + job.checks


LATER = {optimizes: preload_optimizers, tapes: preload_tensorflow}
"""What is imported when a job first wants it."""
