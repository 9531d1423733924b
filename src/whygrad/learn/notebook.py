"""The exercises as notebooks, one per track, from the same files; checked by the same checker.

A cell with an exercise says which one in its first line; the cell below hands the notebook's history to `check`, which
takes the last cell with that line. So the code is judged outside the kernel too.
"""

from __future__ import annotations

import ast
import atexit
import functools
import itertools
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from whygrad.learn import telling
from whygrad.learn.checking import Examiner, Verdict
from whygrad.learn.course import Exercise, exercises, find
from whygrad.learn.workshop import Workshop

MARK = "# exercise: "
SETUP = "from whygrad.learn.notebook import check"
INTRODUCTION = """\
# whygrad learn: {track}

Write something in place of every `...`, run the cell, then run the one below it: it is checked outside this notebook.
"""


def write(folder: Path) -> tuple[list[Path], list[Path]]:
    """Make the notebooks that are not there yet; those that were made, and those that stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made, kept = [], []
    for track, group in itertools.groupby(exercises(), lambda e: e.track):
        file = folder / f"{track}.ipynb"
        if file.exists():
            kept.append(file)
            continue
        file.write_text(json.dumps(notebook(track, group), indent=1) + "\n", encoding="utf-8")
        made.append(file)
    return made, kept


def notebook(track: str, group: Iterable[Exercise]) -> dict[str, Any]:
    cells = [_cell("markdown", INTRODUCTION.format(track=track)), _cell("code", SETUP)]
    for exercise in group:
        cells.append(_cell("markdown", f"## {exercise.title}\n\n{exercise.task.partition(chr(10))[2].strip()}"))
        cells.append(_cell("code", cell(exercise, exercise.shipped)))
        cells.append(_cell("code", f'check("{exercise.key}", In)'))
    for number, one in enumerate(cells):
        one["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def cell(exercise: Exercise, source: str) -> str:
    """A file as the text of a cell: the task stands above it, and it is nobody's main program."""
    lines = source.splitlines()
    tree = ast.parse(source)
    first = tree.body[0]
    start = (first.end_lineno or 0) if ast.get_docstring(tree) is not None else 0
    mains = [node.lineno - 1 for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.dump(node.test)]
    body = "\n".join(lines[start : mains[0] if mains else None]).strip()
    return f"{MARK}{exercise.key}\n{body}"


def _cell(kind: str, text: str) -> dict[str, Any]:
    out: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return out | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def check(name: str, history: Sequence[str]) -> None:
    """Judge the last cell that holds this exercise, and say what is missing. `history` is a notebook's `In`."""
    exercise = find(name)
    mark = f"{MARK}{exercise.key}"
    source = next((text for text in reversed(history) if text.lstrip().startswith(mark)), None)
    if source is None:
        print(f"run the cell that begins with `{mark}` first")
        return
    print(judged(exercise, source))


def judged(exercise: Exercise, source: str) -> str:
    with tempfile.TemporaryDirectory(prefix="whygrad-learn-") as folder:
        file = Path(folder) / f"{exercise.name}.py"
        file.write_text(source, encoding="utf-8")  # Findings quote lines of it.
        given = Examiner(exercise, _workshop()).check(source, file)
    return _told(exercise, given)


def _told(exercise: Exercise, given: Verdict) -> str:
    lines = telling.verdict(exercise, given, Path(exercise.key))
    return "\n".join(line.plain for line in lines if line.plain.strip() != exercise.key)


@functools.cache
def _workshop() -> Workshop:
    """One for the whole notebook."""
    workshop = Workshop()
    atexit.register(workshop.close)
    return workshop
