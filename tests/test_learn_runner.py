"""`whygrad learn` in a real terminal: start, fail, hint, fix by editing the file, pass, next, quit, resume."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import Terminal, alive, within
from whygrad.learn.course import exercises, find
from whygrad.learn.progress import NAME

SQUARE = find("square")


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def started(terminals: list[Terminal], folder: Path) -> Terminal:
    terminals.append(Terminal(folder, "learn"))
    return terminals[-1]


def after(terminal: Terminal, *words: str) -> str:
    """What has come on the screen since last time, until the words are in it."""
    terminal.until(*words)
    seen, terminal.seen = terminal.seen, ""
    return seen


def test_a_whole_lesson(terminals: list[Terminal], tmp_path: Path) -> None:
    file = tmp_path / "whygrad-learn/1_autograd/01_square.py"
    one = started(terminals, tmp_path)
    seen = after(one, "line 14 is still to be done", "q quit")
    assert f"0/{len(exercises())}" in seen
    assert "edit whygrad-learn/1_autograd/01_square.py" in seen

    one.press(b"h")
    after(one, "hint 1 of 2: Two lines", "q quit")
    one.press(b"s")
    after(one, "the solution is shown when 1_autograd/01_square is passed", "q quit")
    one.press(b"n")
    after(one, "not passed yet", "q quit")

    file.write_text(SQUARE.solution.replace("leaf**2", "leaf * 2"), encoding="utf-8")
    after(one, "that is the slope of 2x", "q quit")
    one.press(b"e")
    after(one, "The derivative of x", "q quit")
    one.press(b"l")
    after(one, "[>] 01_square", "q quit")

    file.write_text(SQUARE.solution, encoding="utf-8")
    after(one, "passed  1_autograd/01_square", "press n for the next one", "q quit")
    one.press(b"s")
    after(one, "y = leaf**2", "q quit")
    one.press(b"n")
    after(one, "1_autograd/02_dot: The gradient of a dot product", "is still to be done", "q quit")
    one.press(b"q")
    assert one.ended() == 0
    assert f"1 of {len(exercises())} passed; next: 1_autograd/02_dot" in one.seen

    two = started(terminals, tmp_path)
    seen = after(two, "1_autograd/02_dot: The gradient of a dot product", "is still to be done", "q quit")
    assert f"1/{len(exercises())}" in seen
    two.press(b"\x03")
    assert two.ended() == 0
    progress = json.loads((tmp_path / "whygrad-learn" / NAME).read_text())
    assert (progress["passed"], progress["current"]) == (["1_autograd/01_square"], "1_autograd/02_dot")
    assert file.read_text() == SQUARE.solution


def test_reset_asks_first_and_findings_are_shown(terminals: list[Terminal], tmp_path: Path) -> None:
    file = tmp_path / "whygrad-learn/1_autograd/01_square.py"
    one = started(terminals, tmp_path)
    after(one, "is still to be done", "q quit")
    file.write_text(
        "import torch\n\n\ndef slope(x):\n    y = torch.tensor(x) ** 2\n    y.backward()\n", encoding="utf-8"
    )
    after(one, "line 5: computed here from values none of which requires grad", "q quit")
    one.press(b"w")
    after(one, "error[WG601]", "q quit")
    one.press(b"r")
    after(one, "give the exercise back as it was in the beginning? y/n", "q quit")
    one.press(b"x")
    after(one, "left as it is", "q quit")
    assert "torch.tensor(x) ** 2" in file.read_text()
    one.press(b"r")
    after(one, "y/n", "q quit")
    one.press(b"y")
    after(one, "what you had is in", "q quit")
    assert file.read_text() == SQUARE.shipped
    one.press(b"q")
    assert one.ended() == 0


def test_ctrl_c_while_a_loop_runs_ends_the_loop_too(terminals: list[Terminal], tmp_path: Path) -> None:
    file, mark = tmp_path / "whygrad-learn/1_autograd/01_square.py", tmp_path / "pid"
    one = started(terminals, tmp_path)
    after(one, "is still to be done", "q quit")
    source = f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\nwhile True:\n    pass\n"
    file.write_text(source, encoding="utf-8")
    assert within(20, lambda: mark.exists() and mark.read_text() != "")
    one.press(b"\x03")
    assert one.ended() == 0
    assert within(5, lambda: not alive(int(mark.read_text())))
