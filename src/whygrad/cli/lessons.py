"""The runner in the terminal: one exercise at a time, checked whenever its file is saved, and keys for the rest."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from whygrad.cli.keys import Keys
from whygrad.cli.learn import next_hint, told_reset, unsolved
from whygrad.learn import checking, telling
from whygrad.learn.checking import Verdict
from whygrad.learn.folder import Folder
from whygrad.learn.workshop import Workshop
from whygrad.report.styled import styled

Stamp = tuple[int, int] | None
REFRESH = 0.2
"""Seconds between two looks at the file."""
KEYS = "h hint  e explain  w what whygrad found  s solution  l list  r reset  n next  q quit"


class Lessons:
    """Shows the current exercise until somebody quits."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._exercise = folder.current()
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._workshop = Workshop()
        self._verdict: Verdict | None = None
        self._seen: Stamp = None
        """The file as it was when it was last checked."""
        self._below: list[Text] = []
        self._asking = False
        """Whether the next key answers the question about a reset."""

    def run(self) -> int:
        with contextlib.suppress(KeyboardInterrupt), self._workshop, Keys() as keys:
            self._workshop.start()
            self._check()
            while (key := keys.read(REFRESH)) not in ("q", "\x04"):
                if key:
                    self._press(key)
                elif _stamp(self._file) != self._seen:
                    self._below = []
                    self._check()
        self._folder.save()
        self._console.print(styled(f"{telling.standing(self._folder)}. `whygrad learn` goes on from here."))
        return 0

    @property
    def _file(self) -> Path:
        return self._folder.file(self._exercise)

    def _check(self) -> None:
        self._folder.progress.current = self._exercise.key
        self._folder.save()
        self._verdict = None
        self._seen = _stamp(self._file)  # Before the check: what is saved meanwhile is checked next.
        self._show()
        self._verdict = checking.check(self._exercise, self._file, self._workshop)
        self._folder.mark(self._exercise, self._verdict.passed)
        self._show()

    def _press(self, key: str) -> None:
        if self._asking:
            self._asking = False
            self._below = self._answered(key)
        elif key in self._actions():
            self._below = [styled(row) for row in self._actions()[key]().splitlines()]
        self._show()

    def _actions(self) -> dict[str, Callable[[], str]]:
        return {
            "h": lambda: next_hint(self._folder, self._exercise),
            "e": lambda: self._exercise.why,
            "w": self._found,
            "s": self._solution,
            "l": lambda: "\n".join(line.plain for line in telling.catalogue(self._folder)),
            "r": self._ask,
            "n": self._next,
        }

    def _found(self) -> str:
        report = self._verdict.report if self._verdict is not None else ""
        return report or "whygrad found nothing in what ran"

    def _solution(self) -> str:
        passed = self._exercise.key in self._folder.progress.passed
        return self._exercise.solution if passed else unsolved(self._exercise)

    def _ask(self) -> str:
        self._asking = True
        return "give the exercise back as it was in the beginning? y/n"

    def _answered(self, key: str) -> list[Text]:
        if key != "y":
            return [styled("left as it is")]
        kept = self._folder.reset(self._exercise)
        self._check()
        return [styled(told_reset(self._exercise, kept))]

    def _next(self) -> str:
        if self._verdict is None or not self._verdict.passed:
            return "not passed yet; `whygrad learn check NAME` checks any other exercise"
        following = self._folder.following(self._exercise)
        if following.key in self._folder.progress.passed:
            return "that was the last one: everything is passed"
        self._exercise = following
        self._check()
        return ""

    def _show(self) -> None:
        console, exercise = self._console, self._exercise
        console.clear()
        console.print(styled(f"whygrad learn  {telling.bar(self._folder)}", style="bold"))
        console.print(styled(f"{exercise.key}: {exercise.title}", style="bold cyan"))
        console.print(styled(f"edit {os.path.relpath(self._file)}; it is checked when you save it", style="dim"))
        console.print()
        if self._verdict is None:
            console.print("checking ...")
        else:
            for line in telling.verdict(exercise, self._verdict, self._file, min(console.width, 110)):
                console.print(line)
            if self._verdict.passed:
                console.print("press n for the next one, s to compare with the solution")
        if self._below:
            console.print()
            for line in self._below:
                console.print(line, soft_wrap=True)
        console.print()
        console.print(styled(KEYS, style="dim"))
        sys.stdout.flush()


def _stamp(file: Path) -> Stamp:
    """Changes when somebody saves the file; an editor may take it away for a moment."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
