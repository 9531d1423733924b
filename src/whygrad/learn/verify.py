"""Proves the exercises: each fails as shipped, passes with its solution, knows its wrong attempts, and has a hint."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from whygrad.learn.checking import Examiner, SolutionError, Verdict
from whygrad.learn.course import Exercise
from whygrad.learn.workshop import Workshop

FEWEST_WRONG = 3
SHORTEST = 18
"""Characters of a message that a wrong attempt is recognised by."""


@dataclass
class Proof:
    exercise: Exercise
    complaints: list[str] = field(default_factory=list)
    attempts: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    messages: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.complaints


def prove(exercise: Exercise, workshop: Workshop, seed: int | None = None) -> Proof:
    proof = Proof(exercise)
    proof.complaints += written(exercise)
    if proof.complaints:
        return proof
    try:
        _try_all(proof, Examiner(exercise, workshop, seed))
    except SolutionError as error:
        proof.complaints.append(str(error))
    if len(set(proof.messages.values())) < len(proof.messages):
        proof.complaints.append("two wrong attempts get the same message")
    return proof


def _try_all(proof: Proof, examiner: Examiner) -> None:
    exercise = proof.exercise
    with tempfile.TemporaryDirectory(prefix="whygrad-learn-") as folder:
        file = Path(folder) / f"{exercise.name}.py"
        shipped = _tried(proof, examiner, exercise.shipped, file)
        if shipped.passed:
            proof.complaints.append("passes as shipped")
        solved = _tried(proof, examiner, exercise.solution, file)
        if not solved.passed:
            proof.complaints.append(f"the solution fails: {solved.message}")
        for wrong in exercise.wrong:
            verdict = _tried(proof, examiner, wrong.source, file)
            proof.messages[wrong.name] = verdict.message
            if verdict.passed:
                proof.complaints.append(f"the wrong attempt {wrong.name!r} passes")
            elif wrong.says not in verdict.message:
                proof.complaints.append(
                    f"{wrong.name!r} should be told {wrong.says!r}, and is told {verdict.message!r}"
                )


def _tried(proof: Proof, examiner: Examiner, source: str, file: Path) -> Verdict:
    file.write_text(source, encoding="utf-8")
    verdict = examiner.check(source, file)
    proof.attempts += 1
    proof.seconds += verdict.seconds
    proof.slowest = max(proof.slowest, verdict.seconds)
    return verdict


def written(exercise: Exercise) -> Iterator[str]:
    """What can be seen without running anything."""
    if "TODO" not in exercise.shipped:
        yield "exercise.py has no TODO"
    if len(exercise.task) < 80:
        yield "exercise.py has no task in its docstring"
    if not exercise.hints:
        yield "there is no hint"
    if not exercise.why:
        yield "why.md is empty"
    try:
        wrong = exercise.wrong
    except ValueError as error:
        yield str(error)
        return
    if len(wrong) < FEWEST_WRONG:
        yield f"{len(wrong)} wrong attempts, fewer than {FEWEST_WRONG}"
    if len({w.says for w in wrong}) < len(wrong):
        yield "two wrong attempts expect the same message"
    yield from (f"{w.name!r} expects too little: {w.says!r}" for w in wrong if len(w.says) < SHORTEST)
