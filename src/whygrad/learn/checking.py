"""The verdict about one file. It is given here, outside the learner's process, from what was answered there.

The questions are drawn anew each time, and their right answers are never in the learner's process: the solution is
run in another one.
"""

from __future__ import annotations

import ast
import inspect
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whygrad.learn.course import Exercise, module
from whygrad.learn.drawing import Draw
from whygrad.learn.job import Answers, Job, Outcome, Raised
from whygrad.learn.judging import Seen, sentence
from whygrad.learn.workshop import Workshop, WorkshopError

MOST_DRAWS = 5
"""Of questions, until some are found that the solution passes with."""


@dataclass(frozen=True)
class Verdict:
    passed: bool
    message: str = ""
    output: str = ""
    """What the learner's code printed."""
    report: str = ""
    """What whygrad found, in full."""
    seconds: float = 0.0


class SolutionError(WorkshopError):
    """There is nothing to compare with: a package is missing, or the exercise is broken."""


class Examiner:
    """The questions of one exercise and, where the judge wants them, the solution's answers to them."""

    def __init__(self, exercise: Exercise, workshop: Workshop, seed: int | None = None) -> None:
        self.exercise = exercise
        self._workshop = workshop
        self._source, self._file = exercise.checks, str(exercise.folder / "checks.py")
        self._checks = module(self._source, self._file)
        self._draw = Draw(seed)
        self.asked: dict[str, Any] = {}
        self._right: Seen | None = None

    def check(self, source: str, file: Path) -> Verdict:
        """The verdict about this source, which lies in this file."""
        undone = _undone(source)
        if undone:
            return Verdict(False, undone)
        self._prepare()  # Before the learner's code has been able to do anything.
        outcome = self._run(source, str(file))
        message = self._verdict(outcome)
        report = outcome.answers.report if outcome.answers is not None else ""
        return Verdict(not message, message, outcome.output, report, outcome.seconds)

    def _prepare(self) -> None:
        """Draw questions. Some cannot tell right from wrong (at 2, x² and 2x are the same): then ask others."""
        if self.asked:
            return
        for _ in range(MOST_DRAWS):
            self.asked = {"seed": self._draw.whole(0, 2**31 - 1), **self._checks.ask(self._draw)}
            if "right" not in inspect.signature(self._checks.judge).parameters:
                return
            self._right = self._solved()
            if not any(self._judged(self._right)):
                return

    def _run(self, source: str, file: str) -> Outcome:
        nonce = secrets.token_hex(16)
        watch, limit = self.exercise.watch, self.exercise.limit
        outcome = self._workshop.run(Job(source, file, self._source, self._file, self.asked, watch, limit, nonce))
        if outcome.answers is not None and outcome.answers.nonce != nonce:
            return Outcome(None, outcome.status, outcome.output, False, None, outcome.seconds)
        return outcome

    def _verdict(self, outcome: Outcome) -> str:
        """What is wrong; empty when nothing is."""
        answers = outcome.answers
        if answers is None:
            return _gone(outcome, self.exercise.limit)
        if answers.tampered:
            return f"your code replaces {answers.tampered}; an exercise is solved without changing the libraries"
        if answers.raised is not None:
            return self._raised(answers, answers.raised)
        if answers.wrong:
            return answers.wrong
        seen = Seen(answers.seen, answers.findings, answers.updates)
        return next(iter(self._judged(seen)), "")

    def _judged(self, seen: Seen) -> Iterator[str]:
        """Most exercises compare with the solution; where the answer is known otherwise, it is not run."""
        compared = () if self._right is None else (self._right,)
        yield from self._checks.judge(self.asked, seen, *compared)

    def _raised(self, answers: Answers, raised: Raised) -> str:
        """The exercise may know better what an exception means; else whygrad does, where it is one of PyTorch's."""
        place = f"line {raised.line}: " if raised.line else ""
        if raised.kind in ("SystemExit", "KeyboardInterrupt"):
            return f"{place}your code ended the program ({raised.kind}) before the check had its answers"
        known = getattr(self._checks, "raised", None)
        own = known(raised) if known is not None else ""
        if own:
            return f"{place}{own}"
        explained = next((sentence(f) for f in answers.findings if f["raised"]), "")
        text = " ".join(raised.text.split())
        return explained or f"{place}{raised.kind}: {text}"

    def _solved(self) -> Seen:
        """What the solution answers, in a process that the learner's code never sees."""
        outcome = self._run(self.exercise.solution, str(self.exercise.folder / "solution.py"))
        answers = outcome.answers
        if answers is None or answers.raised is not None or answers.wrong:
            said = _failure(outcome)
            raise SolutionError(f"the solution of {self.exercise.key} does not run here: {said}")
        return Seen(answers.seen, answers.findings, answers.updates)


def _failure(outcome: Outcome) -> str:
    if outcome.answers is None:
        return f"status {outcome.status}"
    raised = outcome.answers.raised
    return f"{raised.kind}: {raised.text}" if raised is not None else outcome.answers.wrong


def _undone(source: str) -> str:
    """A sentence about the first `...` that is still in the file."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""  # The attempt says it better.
    lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value is Ellipsis]
    return f"line {min(lines)} is still to be done: write something in place of `...`" if lines else ""


def _gone(outcome: Outcome, limit: float) -> str:
    if outcome.timed_out:
        where = f"line {outcome.line}" if outcome.line else "your code"
        return f"{where} was still running after {limit:g} seconds: is there a loop that never ends?"
    if outcome.status < 0:
        return f"your code crashed its process (signal {-outcome.status}) before the check had its answers"
    return f"your code ended its process (status {outcome.status}) before the check had its answers"


def check(exercise: Exercise, file: Path, workshop: Workshop, seed: int | None = None) -> Verdict:
    """The verdict about a learner's file as it is now."""
    try:
        source = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Verdict(False, f"{file} is gone; `whygrad learn reset {exercise.key}` brings it back")
    except (OSError, UnicodeDecodeError) as error:
        return Verdict(False, f"{file} cannot be read: {error}")
    return Examiner(exercise, workshop, seed).check(source, file.absolute())
