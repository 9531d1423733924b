"""The learner's own folder: a file per exercise, which nobody but the learner writes to, and the progress."""

from __future__ import annotations

from pathlib import Path

from whygrad.learn.course import Exercise, exercises
from whygrad.learn.progress import NAME, Progress, load

DEFAULT = "whygrad-learn"


class Folder:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.new = not (root / NAME).exists()
        """Nobody has worked here yet."""
        self.progress: Progress = load(root / NAME)

    def file(self, exercise: Exercise) -> Path:
        return self.root / exercise.track / f"{exercise.name}.py"

    def lay_out(self) -> int:
        """Copy the exercises that are not there yet; how many that were. What is there stays as it is."""
        missing = [e for e in exercises() if not self.file(e).exists()]
        for exercise in missing:
            self._write(exercise)
        return len(missing)

    def reset(self, exercise: Exercise) -> Path | None:
        """The exercise as it was in the beginning; the learner's file is kept beside it, under the name returned."""
        file, kept = self.file(exercise), None
        if file.exists() and file.read_bytes() != exercise.shipped.encode():
            kept = _unused(file)
            file.rename(kept)
        self._write(exercise)
        self.progress.passed.discard(exercise.key)
        self.progress.hints.pop(exercise.key, None)
        self.save()
        return kept

    def _write(self, exercise: Exercise) -> None:
        file = self.file(exercise)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(exercise.shipped, encoding="utf-8")

    def mark(self, exercise: Exercise, passed: bool) -> None:
        """Remember a verdict. What was passed once stays passed."""
        if passed and exercise.key not in self.progress.passed:
            self.progress.passed.add(exercise.key)
            self.save()

    def save(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.progress.save(self.root / NAME)

    def current(self) -> Exercise:
        """Where the learner is: where they were last, else the first that is not passed."""
        known = {e.key: e for e in exercises()}
        return known.get(self.progress.current) or self.following(None)

    def following(self, exercise: Exercise | None) -> Exercise:
        """The next that is not passed, from the beginning again after the last; the last when there is none."""
        every = list(exercises())
        start = every.index(exercise) + 1 if exercise is not None else 0
        ahead = [e for e in every[start:] + every[:start] if e.key not in self.progress.passed]
        return ahead[0] if ahead else every[-1]


def chosen(named: str | None) -> Path:
    """The folder that was named; else the one we are in, if it is one; else the usual one below."""
    if named is not None:
        return Path(named)
    return Path() if Path(NAME).exists() else Path(DEFAULT)


def _unused(file: Path) -> Path:
    number = 1
    while (kept := file.with_suffix(f".before{number}.txt")).exists():
        number += 1
    return kept
