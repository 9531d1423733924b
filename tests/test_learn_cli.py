"""`whygrad learn` without a terminal: commands, exit statuses, progress, and files that are the learner's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_running import Ended, crashed, whygrad
from whygrad.learn.course import exercises, find
from whygrad.learn.folder import Folder
from whygrad.learn.progress import NAME

SQUARE = "1_autograd/01_square.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where somebody has begun."""
    Folder(tmp_path / "whygrad-learn").lay_out()
    return tmp_path / "whygrad-learn"


def learn(cwd: Path, *arguments: str) -> Ended:
    done = whygrad(cwd, "learn", *arguments)
    assert not crashed(done.err), done.err
    return done


def solve(folder: Path, name: str) -> None:
    exercise = find(name)
    (folder / exercise.track / f"{exercise.name}.py").write_text(exercise.solution, encoding="utf-8")


def test_the_first_start_copies_everything_and_checks_once(tmp_path: Path) -> None:
    done = learn(tmp_path)
    assert done.status == 1
    assert f"{len(exercises())} exercises are in whygrad-learn" in done.out
    assert "line 14 is still to be done" in done.out
    files = sorted((tmp_path / "whygrad-learn").rglob("*.py"))
    assert len(files) == len(exercises())
    assert (tmp_path / "whygrad-learn" / SQUARE).read_text() == find("square").shipped


def test_a_check_may_come_first(tmp_path: Path) -> None:
    done = learn(tmp_path, "check", "square")
    assert done.status == 1
    assert "line 14 is still to be done" in done.out
    (tmp_path / "whygrad-learn" / SQUARE).unlink()
    assert "is gone" in learn(tmp_path, "check", "square").out


def test_a_learners_file_is_never_overwritten(folder: Path) -> None:
    (folder / SQUARE).write_text("mine = 1\n")
    (folder / "1_autograd/02_dot.py").unlink()
    assert learn(folder.parent).status == 1
    assert (folder / SQUARE).read_text() == "mine = 1\n"
    assert (folder / "1_autograd/02_dot.py").exists()


def test_check_says_what_is_wrong_and_what_is_passed(folder: Path) -> None:
    solve(folder, "square")
    (folder / "1_autograd/02_dot.py").write_text(find("dot").solution.replace("x @ x", "x.sum()"))
    done = learn(folder.parent, "check", "square", "1_autograd/02_dot", "--json", "out.json")
    assert (done.status, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0] == "passed  1_autograd/01_square  The slope of x squared"
    assert lines[1] == "not yet 1_autograd/02_dot  The gradient of a dot product"
    assert "that is what a plain sum gives" in done.out
    assert "whygrad-learn/1_autograd/02_dot.py" in done.out
    assert lines[-1] == "1 of 2 passed"
    rows = json.loads((folder.parent / "out.json").read_text())
    assert [(row["exercise"], row["passed"]) for row in rows] == [
        ("1_autograd/01_square", True),
        ("1_autograd/02_dot", False),
    ]
    standing = f"1 of {len(exercises())} passed; next: 1_autograd/02_dot"
    assert learn(folder.parent, "status").out.splitlines()[0] == standing
    assert "[x] 01_square" in learn(folder.parent, "list").out
    assert learn(folder.parent, "check", "square").status == 0


def test_all_of_them_for_a_course(folder: Path) -> None:
    for exercise in exercises():
        (folder / exercise.track / f"{exercise.name}.py").write_text("x = ...\n")
    solve(folder, "square")
    done = learn(folder.parent, "check", "--all")
    assert done.status == 1
    assert f"1 of {len(exercises())} passed" in done.out.splitlines()


def test_hints_come_one_by_one(folder: Path) -> None:
    first = learn(folder.parent, "hint", "square").out
    second = learn(folder.parent, "hint", "square").out
    assert first.startswith("hint 1 of 2: Two lines")
    assert second.startswith("hint 2 of 2: y = leaf**2")
    assert learn(folder.parent, "hint", "square").out == second


def test_the_solution_is_shown_after_passing(folder: Path) -> None:
    before = learn(folder.parent, "solution", "square")
    assert before.status == 1
    assert "y = leaf**2" not in before.out
    solve(folder, "square")
    learn(folder.parent, "check", "square")
    after = learn(folder.parent, "solution", "square")
    assert (after.status, after.out) == (0, find("square").solution)


def test_explain_has_the_task_and_the_reasoning(folder: Path) -> None:
    out = learn(folder.parent, "explain", "square").out
    assert "At 2 it is 4." in out
    assert "The derivative of x² is 2x" in out


def test_reset_keeps_what_was_written(folder: Path) -> None:
    solve(folder, "square")
    learn(folder.parent, "check", "square")
    done = learn(folder.parent, "reset", "square")
    assert done.status == 0
    assert "is as in the beginning; what you had is in" in done.out
    assert (folder / SQUARE).read_text() == find("square").shipped
    assert (folder / "1_autograd/01_square.before1.txt").read_text() == find("square").solution
    assert learn(folder.parent, "status").out.startswith("0 of")
    assert learn(folder.parent, "reset", "square").out == "1_autograd/01_square is as in the beginning\n"


def test_inside_the_folder_no_folder_need_be_named(folder: Path) -> None:
    Folder(folder).save()
    solve(folder, "square")
    assert learn(folder, "check", "square").status == 0
    assert not (folder / "whygrad-learn").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "nonsense"], "there is no exercise 'nonsense'; see `whygrad learn list`"),
        (["check", "square", "--all"], "name exercises, or say --all"),
        (["hint", "nonsense"], "there is no exercise 'nonsense'; see `whygrad learn list`"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = learn(tmp_path, *arguments)
    assert (done.status, done.out, done.err) == (2, "", f"whygrad: {said}\n")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "passed": 3}'])
def test_progress_that_makes_no_sense_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    done = learn(tmp_path, "status")
    assert done.status == 2
    assert "cannot be understood" in done.err
    assert "move it away to start again" in done.err
    assert (tmp_path / NAME).read_text() == text


def test_colour_only_where_it_is_wanted(folder: Path) -> None:
    plain = whygrad(folder.parent, "learn", "list")
    coloured = whygrad(folder.parent, "learn", "list", env={"FORCE_COLOR": "1"})
    silenced = whygrad(folder.parent, "learn", "list", env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert "\x1b[" not in plain.out
    assert "\x1b[" in coloured.out
    assert silenced.out == plain.out
