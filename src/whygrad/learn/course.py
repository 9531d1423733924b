"""The exercises, as they lie in their folders. A folder is all there is to an exercise:

exercise.py   what the learner gets: the task in its docstring, and a TODO
solution.py   one right answer
checks.py     ask(draw): questions, drawn anew for every check
              observe(code, asked): runs in the learner's process and returns what is seen there
              judge(asked, seen, right): runs outside it and yields what is wrong, the most helpful thing first;
              `right` is what the solution answers to the same questions, and may be left out
                  raised(error): optional, what an exception means here
lesson.toml   title, hints, and wrong attempts: edits of the solution, each with the message it must get;
              `needs` names a package without which the exercise is optional, and left out
why.md        the reasoning
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).parent / "exercises"
LIMIT = 10.0
"""Seconds that one attempt may take."""


@dataclass(frozen=True)
class WrongAttempt:
    """A usual mistake: the solution with one thing changed, and a part of the message that it must get."""

    name: str
    source: str
    says: str


@dataclass(frozen=True)
class Exercise:
    track: str
    name: str
    folder: Path

    @property
    def key(self) -> str:
        return f"{self.track}/{self.name}"

    @property
    def shipped(self) -> str:
        return (self.folder / "exercise.py").read_text(encoding="utf-8")

    @property
    def solution(self) -> str:
        return (self.folder / "solution.py").read_text(encoding="utf-8")

    @property
    def why(self) -> str:
        return (self.folder / "why.md").read_text(encoding="utf-8").strip()

    @property
    def task(self) -> str:
        return ast.get_docstring(ast.parse(self.shipped)) or ""

    @functools.cached_property
    def lesson(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "lesson.toml").read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        return str(self.lesson["title"])

    @property
    def hints(self) -> list[str]:
        return [" ".join(hint.split()) for hint in self.lesson["hints"]]

    @property
    def limit(self) -> float:
        return float(self.lesson.get("limit", LIMIT))

    @property
    def needs(self) -> str:
        """A package beside torch; an exercise that needs one is optional."""
        return str(self.lesson.get("needs", ""))

    @property
    def reason(self) -> str:
        """Why it cannot be done here; empty where it can."""
        if not self.needs or importlib.util.find_spec(self.needs) is not None:
            return ""
        return f'needs {self.needs}, which is not installed: pip install "whygrad[{self.needs}]"'

    @property
    def watch(self) -> str:
        """How whygrad watches an attempt: "always" traces every update, "auto" as in a long run."""
        return str(self.lesson.get("watch", "always"))

    @property
    def wrong(self) -> list[WrongAttempt]:
        return [_attempt(self, entry) for entry in self.lesson["wrong"]]

    @property
    def checks(self) -> str:
        return (self.folder / "checks.py").read_text(encoding="utf-8")


def module(source: str, file: str) -> ModuleType:
    """Source as a module under a name that nobody imports."""
    made = ModuleType("whygrad.learn.exercises.checks")
    made.__file__ = file
    exec(compile(source, file, "exec", dont_inherit=True), vars(made))
    return made


def _attempt(exercise: Exercise, entry: dict[str, Any]) -> WrongAttempt:
    """Edits are given as what stands in the solution (once) and what stands there instead."""
    source = exercise.solution
    for old, new in entry["edits"]:
        if source.count(old) != 1:
            raise ValueError(f"{exercise.key}: {entry['name']!r} edits {old!r}, which the solution does not have once")
        source = source.replace(old, new)
    return WrongAttempt(entry["name"], source, entry["says"])


@functools.cache
def every() -> tuple[Exercise, ...]:
    """All of them, in order, also those that cannot be done here."""
    folders = sorted(file.parent for file in HOME.glob("*/*/lesson.toml"))
    return tuple(Exercise(folder.parent.name, folder.name, folder) for folder in folders)


@functools.cache
def exercises() -> tuple[Exercise, ...]:
    """Those that can be done here, in order."""
    return tuple(exercise for exercise in every() if not exercise.reason)


def left_out() -> dict[str, tuple[int, str]]:
    """Tracks with exercises that cannot be done here: how many, and why."""
    out: dict[str, tuple[int, str]] = {}
    for exercise in every():
        if exercise.reason:
            out[exercise.track] = (out.get(exercise.track, (0, ""))[0] + 1, exercise.reason)
    return out


def possible(name: str) -> Exercise:
    """By the same names; an exercise that cannot be done here is refused."""
    found = find(name)
    if found.reason:
        raise ValueError(f"{found.key} is optional and was skipped: it {found.reason}")
    return found


def find(name: str) -> Exercise:
    """By key (1_autograd/01_square), name (01_square) or bare name (square)."""
    wanted = name.strip().removesuffix(".py").replace("\\", "/")
    wanted = "/".join(wanted.split("/")[-2:])
    found = [e for e in every() if wanted in (e.key, e.name, e.name.partition("_")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{name!r} could be {' or '.join(e.key for e in found)}")
    raise ValueError(f"there is no exercise {name!r}; see `whygrad learn list`")
