"""The notebooks and the pages: made from the exercises, and run from their first cell to their last."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_running import whygrad
from whygrad.learn import notebook, pages
from whygrad.learn.course import exercises, find

ROOT = Path(__file__).parent.parent
TRACKS = [track for track, _ in itertools.groupby(exercises(), lambda e: e.track)]


class Kernel:
    """Runs cells as IPython does: one namespace, with the history of all cells in `In`."""

    def __init__(self) -> None:
        self.history: list[str] = [""]
        self.names: dict[str, Any] = {"__name__": "__main__", "In": self.history}

    def run(self, source: str) -> str:
        self.history.append(source)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, f"cell {len(self.history)}", "exec"), self.names)
        return printed.getvalue()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebooks")
    done = whygrad(folder, "learn", "--notebook", "here")
    assert (done.status, done.out) == (0, f"{len(TRACKS)} notebooks written to here\n")
    return folder / "here"


@pytest.fixture(scope="module", autouse=True)
def one_workshop() -> Iterator[None]:
    yield
    notebook._workshop().close()


def cells(folder: Path, track: str) -> list[str]:
    data = json.loads((folder / f"{track}.ipynb").read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in data["cells"]}) == len(data["cells"])
    return ["".join(cell["source"]) for cell in data["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("track", TRACKS)
def test_as_shipped_every_cell_runs_and_every_check_says_what_is_missing(written: Path, track: str) -> None:
    kernel, verdicts = Kernel(), []
    for source in cells(written, track):
        said = _run(kernel, source)
        if source.startswith("check("):
            verdicts.append(said)
    assert len(verdicts) == sum(e.track == track for e in exercises())
    assert all(said.startswith("not yet ") for said in verdicts)


def _run(kernel: Kernel, source: str) -> str:
    """An exercise that is still to be done may raise, as in a real notebook; a check may not."""
    if source.startswith("check("):
        return kernel.run(source)
    with contextlib.suppress(Exception):
        return kernel.run(source)
    return ""


@pytest.mark.parametrize("track", ["1_autograd", "2_blocks"])
def test_with_the_answers_filled_in_every_check_passes(written: Path, track: str) -> None:
    kernel = Kernel()
    for source in cells(written, track):
        if source.startswith(notebook.MARK):
            exercise = find(source.splitlines()[0].removeprefix(notebook.MARK))
            source = notebook.cell(exercise, exercise.solution)
        said = kernel.run(source)
        if source.startswith("check("):
            assert said.startswith("passed "), said


def test_a_check_before_its_cell_says_what_to_run() -> None:
    kernel = Kernel()
    kernel.run(notebook.SETUP)
    assert (
        kernel.run('check("square", In)') == "run the cell that begins with `# exercise: 1_autograd/01_square` first\n"
    )


def test_lines_in_a_verdict_are_lines_of_the_cell() -> None:
    kernel = Kernel()
    kernel.run(notebook.SETUP)
    kernel.run("# exercise: 1_autograd/01_square\ndef slope(x):\n    return 1 / 0")
    assert "line 3: ZeroDivisionError" in kernel.run('check("square", In)')


def test_notebooks_that_are_there_stay(written: Path) -> None:
    file = written / "1_autograd.ipynb"
    before = file.read_text(encoding="utf-8")
    file.write_text(before + " ", encoding="utf-8")
    done = whygrad(written.parent, "learn", "--notebook", "here")
    assert done.out == f"0 notebooks written to here; {len(TRACKS)} were there and stay\n"
    assert file.read_text(encoding="utf-8") == before + " "


def test_a_real_shell_keeps_the_history_that_check_reads() -> None:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for source in (notebook.SETUP, notebook.cell(find("square"), find("square").solution), 'check("square", In)'):
            shell.run_cell(source, store_history=True).raise_error()
    assert "passed  1_autograd/01_square" in printed.getvalue()


@pytest.mark.parametrize("name", pages.pages())
def test_pages_are_what_the_exercises_say(name: str) -> None:
    """`python -m whygrad.learn.pages docs/learn` makes them anew."""
    assert (ROOT / "docs/learn" / name).read_text(encoding="utf-8") == pages.pages()[name]
