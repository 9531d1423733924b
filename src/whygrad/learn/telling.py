"""Verdicts and exercises as lines of text."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from rich.text import Text

from whygrad.learn.checking import Verdict
from whygrad.learn.course import Exercise, exercises, left_out
from whygrad.learn.folder import Folder
from whygrad.report.styled import styled

PRINTED = 8
"""Lines of the learner's own output that are shown."""


def verdict(exercise: Exercise, given: Verdict, file: Path, width: int = 100) -> list[Text]:
    """One line for a pass; for a failure the sentence, the file and what the code printed."""
    if given.passed:
        return [styled(f"passed  {exercise.key}  {exercise.title}", style="bold green")]
    out = [styled(f"not yet {exercise.key}  {exercise.title}", style="bold red")]
    out += [styled(f"  {row}") for row in textwrap.wrap(given.message, width - 2, break_on_hyphens=False)]
    out += [styled(f"  {os.path.relpath(file)}", style="dim")]
    if given.output.strip():
        rows = given.output.strip().splitlines()
        out += [styled("  it printed:", style="dim"), *(styled(f"    {row}") for row in rows[-PRINTED:])]
    return out


def catalogue(folder: Folder) -> list[Text]:
    """All exercises by track, with what is done."""
    out: list[Text] = []
    here, track = folder.current(), ""
    for exercise in exercises():
        if exercise.track != track:
            track = exercise.track
            out.append(styled(track, style="bold"))
        done = exercise.key in folder.progress.passed
        mark = "x" if done else ">" if exercise == here else " "
        out.append(styled(f"  [{mark}] {exercise.name:<24}{exercise.title}", style="green" if done else ""))
    return out + [styled(row, style="dim") for row in optional()]


def optional() -> list[str]:
    """A line for every track that is left out here."""
    return [
        f"{track}: optional, {count} exercises skipped (it {reason})" for track, (count, reason) in left_out().items()
    ]


def standing(folder: Folder) -> str:
    """How far, in one line."""
    done, every = len({e.key for e in exercises()} & folder.progress.passed), len(exercises())
    return f"{done} of {every} passed; next: {folder.current().key}" if done < every else f"all {every} passed"


def bar(folder: Folder, width: int = 30) -> str:
    done, every = len({e.key for e in exercises()} & folder.progress.passed), len(exercises())
    filled = width * done // every
    return f"[{'#' * filled}{'-' * (width - filled)}] {done}/{every}"
