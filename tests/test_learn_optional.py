"""Exercises that need what is not installed: listed as optional, skipped with a reason, and in nobody's way."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from whygrad.cli.main import main
from whygrad.learn import course
from whygrad.learn.course import Exercise
from whygrad.learn.folder import Folder
from whygrad.learn.verify import written

OPTIONAL = [exercise for exercise in course.every() if exercise.needs]
REASON = 'needs tensorflow, which is not installed: pip install "whygrad[tensorflow]"'
SKIPPED = f"6_tensorflow: optional, 6 exercises skipped (it {REASON})"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A learner's, where there is no TensorFlow."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorflow" else find_spec(name))
    monkeypatch.chdir(tmp_path)
    course.exercises.cache_clear()
    Folder(tmp_path / "whygrad-learn").lay_out()
    yield tmp_path / "whygrad-learn"
    course.exercises.cache_clear()


@pytest.mark.parametrize("exercise", OPTIONAL, ids=lambda e: e.key)
def test_they_are_written_as_all_others(exercise: Exercise) -> None:
    assert list(written(exercise)) == []


def test_they_are_not_handed_out(folder: Path) -> None:
    assert len(OPTIONAL) == 6
    assert not set(OPTIONAL) & set(course.exercises())
    assert not (folder / "6_tensorflow").exists()


def test_list_and_status_say_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == SKIPPED
    assert main(["learn", "status"]) == 0
    count = len(course.exercises())
    expected = [f"0 of {count} passed; next: 1_autograd/01_square", SKIPPED]
    assert capsys.readouterr().out.splitlines() == expected


def test_a_check_of_everything_leaves_them_out_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for exercise in course.exercises():
        (folder / exercise.track / f"{exercise.name}.py").write_text("x = ...\n", encoding="utf-8")
    assert main(["learn", "check", "--all"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [f"0 of {len(course.exercises())} passed", SKIPPED]


@pytest.mark.parametrize("command", ["check", "verify"])
def test_one_by_name_is_refused_with_the_reason(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main(["learn", command, "6_tensorflow/01_tape"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said == f"whygrad: 6_tensorflow/01_tape is optional and was skipped: it {REASON}"


def test_one_can_still_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "explain", "6_tensorflow/01_tape"]) == 0
    assert "A tape writes it down" in capsys.readouterr().out
