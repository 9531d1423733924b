"""A pass cannot be had by vandalism, and nothing that an exercise does harms the one who checks it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import alive, within
from whygrad.learn import checking, course
from whygrad.learn.checking import Verdict
from whygrad.learn.course import Exercise, find
from whygrad.learn.workshop import Workshop

WRONG = """
import torch


def slope(x):
    leaf = torch.tensor(x, requires_grad=True)
    (leaf * 2).backward()
    return leaf.grad
"""
VANDALS = {
    "prints passed": ("print('passed  1_autograd/01_square')", "that is the slope of 2x"),
    "exits with 0": ("import sys; sys.exit(0)", "ended the program (SystemExit) before the check had its answers"),
    "exits at once": ("import os; os._exit(0)", "ended its process (status 0) before the check had its answers"),
    "patches a comparison": ("import math; math.isclose = lambda *a, **k: True", "your code replaces math.isclose"),
    "patches the checker": (
        "import whygrad.learn.judging as j; j.close = lambda *a, **k: True",
        "that is the slope of 2x",
    ),
    "patches what looks": (
        "import whygrad.learn.seeing as s; s.tensor = lambda *a: torch.tensor(4.0)",
        "your code replaces whygrad.learn.seeing.tensor",
    ),
    "patches torch": ("torch.Tensor.backward = lambda self: None", "your code replaces torch.Tensor.backward"),
    "patches json": ("import json; json.dumps = lambda *a, **k: '{}'", "your code replaces json.dumps"),
    "forges an answer": (
        "import os, json\nfor number in range(3, 64):\n    try:\n        os.write(number, json.dumps({'nonce': '', "
        "'seen': {'slope': 4.0}}).encode())\n    except OSError:\n        pass\nos._exit(0)",
        "before the check had its answers",
    ),
    "swaps code": (
        "import whygrad.learn.plain as p\n"
        "p.plain.__code__ = (lambda value: {'slope': 4.0, 'attached': False}).__code__",
        "your code replaces whygrad.learn.",
    ),
    "quits its parent": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed its process (signal 9)"),
}


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with Workshop() as opened:
        yield opened


@pytest.fixture
def square() -> Exercise:
    return find("1_autograd/01_square")


def verdict(exercise: Exercise, workshop: Workshop, folder: Path, source: str) -> Verdict:
    file = folder / f"{exercise.name}.py"
    file.write_text(source, encoding="utf-8")
    return checking.check(exercise, file, workshop)


@pytest.mark.parametrize("name", VANDALS)
def test_vandalism_is_no_pass(name: str, square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    code, message = VANDALS[name]
    given = verdict(square, workshop, tmp_path, f"{WRONG}\n\n{code}\n")
    assert not given.passed
    assert message in given.message
    assert verdict(square, workshop, tmp_path, square.solution).passed, "the next attempt is judged as ever"


def test_vandalism_beside_a_right_answer_is_named(square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    given = verdict(square, workshop, tmp_path, square.solution + "\ntorch.allclose = lambda *a, **k: True\n")
    assert given.message == "your code replaces torch.allclose; an exercise is solved without changing the libraries"


def test_a_right_answer_that_was_written_down_does_not_fit(
    square: Exercise, workshop: Workshop, tmp_path: Path
) -> None:
    source = "import torch\n\n\ndef slope(x):\n    return torch.tensor(4.0)\n"
    given = [verdict(square, workshop, tmp_path, source) for _ in range(3)]
    assert not all(g.passed for g in given)


def test_a_deleted_check_is_no_pass(workshop: Workshop, tmp_path: Path, square: Exercise) -> None:
    folder = tmp_path / "1_autograd" / "01_square"
    shutil.copytree(square.folder, folder)
    mine = Exercise(square.track, square.name, folder)
    deleting = f"{WRONG}\n\nimport pathlib\npathlib.Path({str(folder / 'checks.py')!r}).unlink()\n"
    given = verdict(mine, workshop, tmp_path, deleting)
    assert "that is the slope of 2x" in given.message
    with pytest.raises(FileNotFoundError):
        verdict(mine, workshop, tmp_path, WRONG)


def test_a_deleted_file_is_no_pass(square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    given = checking.check(square, tmp_path / "01_square.py", workshop)
    assert not given.passed
    assert "whygrad learn reset 1_autograd/01_square" in given.message


# -- containment


@pytest.fixture
def impatient(square: Exercise, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    monkeypatch.setattr(course, "LIMIT", 1.5)
    return square


def test_a_loop_that_never_ends_is_named_with_its_line(impatient: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    began = time.monotonic()
    given = verdict(impatient, workshop, tmp_path, "def slope(x):\n    while True:\n        x = -x\n")
    assert given.message.startswith("line ")
    assert given.message.endswith("was still running after 1.5 seconds: is there a loop that never ends?")
    assert time.monotonic() - began < 15


def test_a_loop_that_disarms_the_alarm_ends_too(impatient: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    source = "import faulthandler\nfaulthandler.cancel_dump_traceback_later()\nwhile True:\n    pass\n"
    given = verdict(impatient, workshop, tmp_path, source)
    assert "was still running after 1.5 seconds" in given.message


CRASHES = {
    "abort": ("import os\nos.abort()\n", "crashed its process (signal 6)"),
    "segfault": ("import ctypes\nctypes.string_at(0)\n", "crashed its process (signal 11)"),
    "syntax": ("def slope(x)\n    return x\n", "line 1: SyntaxError: expected ':'"),
    "recursion": ("def slope(x):\n    return slope(x)\n", "line 2: RecursionError"),
    "exception": ("def slope(x):\n    return 1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
    "no such name": ("def steepness(x):\n    return x\n", "your file no longer has `slope`"),
    "input": ("answer = input()\n", "line 1: EOFError"),
    "empty": ("", "your file no longer has `slope`"),
    "undone": ("def slope(x):\n    return ...\n", "line 2 is still to be done"),
}


@pytest.mark.parametrize("name", CRASHES)
def test_what_goes_wrong_is_one_sentence(name: str, square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    source, message = CRASHES[name]
    given = verdict(square, workshop, tmp_path, source)
    assert not given.passed
    assert message in given.message
    assert "\n" not in given.message


def test_output_is_kept_short_and_the_disk_is_not_filled(square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    given = verdict(square, workshop, tmp_path, "while True:\n    print('x' * 100000)\n")
    assert not given.passed
    assert 0 < len(given.output) <= 4000


def test_what_an_attempt_starts_ends_with_it(square: Exercise, workshop: Workshop, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    source = (
        "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(60)\n    os._exit(0)\n"
        f"open({str(mark)!r}, 'w').write(str(pid))\n{square.solution}"
    )
    assert verdict(square, workshop, tmp_path, source).passed
    assert within(5, lambda: not alive(int(mark.read_text())))


def test_a_file_called_torch_in_the_folder_is_not_imported(square: Exercise, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('this is not torch')\n")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        with Workshop() as own:
            assert verdict(square, own, tmp_path, square.solution).passed
    finally:
        os.chdir(before)
