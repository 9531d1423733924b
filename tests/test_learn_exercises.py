"""`whygrad learn verify`, exercise by exercise, and that it notices what it is there to notice."""

from __future__ import annotations

import doctest
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_running import whygrad
from whygrad.learn import course
from whygrad.learn.course import Exercise, exercises
from whygrad.learn.verify import prove
from whygrad.learn.workshop import Workshop

SEED = 0
LONGEST_CHECK = 5.0
"""Seconds, for one check of tracks 1 to 4."""


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with Workshop() as opened:
        yield opened


def test_there_are_at_least_sixty_in_five_tracks() -> None:
    assert len(exercises()) >= 60
    assert {e.track[0] for e in exercises()} >= set("12345")


@pytest.mark.parametrize("exercise", exercises(), ids=lambda e: e.key)
def test_it_fails_as_shipped_passes_when_solved_and_knows_its_wrong_attempts(
    exercise: Exercise, workshop: Workshop
) -> None:
    proof = prove(exercise, workshop, SEED)
    assert proof.complaints == []
    assert len(proof.messages) >= 3
    assert len(set(proof.messages.values())) == len(proof.messages)
    if exercise.track[0] in "1234":
        assert proof.slowest < LONGEST_CHECK


@pytest.mark.parametrize("exercise", [e for e in exercises() if e.track[0] in "12"], ids=lambda e: e.key)
def test_the_numbers_in_the_reasoning_are_right(exercise: Exercise) -> None:
    blocks = re.findall(r"```python\n(.*?)```", exercise.why, re.DOTALL)
    assert blocks, "the reasoning computes nothing"
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, exercise.key, None, 0)
    assert test.examples
    failed, _ = doctest.DocTestRunner(verbose=False).run(test)
    assert failed == 0


@pytest.fixture
def copied(tmp_path: Path) -> Exercise:
    original = course.find("1_autograd/01_square")
    folder = tmp_path / "1_autograd" / "01_square"
    shutil.copytree(original.folder, folder)
    return Exercise("1_autograd", "01_square", folder)


def changed(exercise: Exercise, name: str, old: str, new: str) -> Exercise:
    file = exercise.folder / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return Exercise(exercise.track, exercise.name, exercise.folder)


BROKEN = {
    "solution.py": ("requires_grad=True", "", "the solution of 1_autograd/01_square does not run here: RuntimeError"),
    "exercise.py": ("y = ...", "y = leaf**2  #", "passes as shipped"),
    "lesson.toml": (
        'says = "that is the slope of 2x"',
        'says = "something else altogether"',
        "'twice x' should be told",
    ),
    "checks.py": ('if close(seen["slope"], 2.0)', 'if close(seen["slope"], 2.0) and False', "'twice x' should be told"),
}


@pytest.mark.parametrize("name", ["solution.py", "exercise.py", "lesson.toml", "checks.py"])
def test_verify_notices_what_is_broken(copied: Exercise, workshop: Workshop, name: str) -> None:
    old, new, complaint = BROKEN[name]
    if name == "exercise.py":
        copied = changed(copied, name, "    ...  # TODO: let torch walk back from y", "    y.backward()")
    proof = prove(changed(copied, name, old, new), workshop, SEED)
    assert any(complaint in said for said in proof.complaints), proof.complaints
    assert not proof


def test_verify_wants_hints_tasks_and_three_wrong_attempts(copied: Exercise, workshop: Workshop) -> None:
    text = (copied.folder / "lesson.toml").read_text(encoding="utf-8")
    first = text.index("[[wrong]]")
    title = 'title = "The slope"\nhints = []\n'
    (copied.folder / "lesson.toml").write_text(title + text[first:].split('[[wrong]]\nname = "returns y"')[0])
    (copied.folder / "exercise.py").write_text('"""Short."""\n')
    (copied.folder / "why.md").write_text("")
    fresh = Exercise(copied.track, copied.name, copied.folder)
    assert prove(fresh, workshop).complaints == [
        "exercise.py has no TODO",
        "exercise.py has no task in its docstring",
        "there is no hint",
        "why.md is empty",
        "2 wrong attempts, fewer than 3",
    ]


def test_an_edit_that_does_not_fit_the_solution_is_named(copied: Exercise, workshop: Workshop) -> None:
    proof = prove(changed(copied, "lesson.toml", '"leaf**2", "leaf * 2"', '"leaf**9", "leaf"'), workshop)
    assert proof.complaints == [
        "1_autograd/01_square: 'twice x' edits 'leaf**9', which the solution does not have once"
    ]


def test_verify_from_the_command_line(tmp_path: Path) -> None:
    done = whygrad(tmp_path, "learn", "verify", "square", "--seed", "3", "--json", "proofs.json")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == "proved  1_autograd/01_square"
    assert "1 of 1 exercises proved: 6 attempts in" in done.out
    assert '"passed": true' in (tmp_path / "proofs.json").read_text(encoding="utf-8")
