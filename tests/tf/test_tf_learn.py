"""The track of `whygrad learn` that needs TensorFlow, which `make test` leaves out: proved, and as a notebook."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="whygrad learn is made for torch; this track comes beside it")

from whygrad.learn import notebook, telling
from whygrad.learn.checking import Examiner
from whygrad.learn.course import Exercise, exercises, find
from whygrad.learn.verify import prove
from whygrad.learn.workshop import Workshop

TRACK = [exercise for exercise in exercises() if exercise.needs == "tensorflow"]
SEED = 0
LONGEST_CHECK = 5.0
"""Seconds, for exercises that train nothing."""


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with Workshop() as opened:
        yield opened


def test_with_tensorflow_the_track_is_like_any_other() -> None:
    assert len(TRACK) == 6
    assert exercises()[-6:] == tuple(TRACK)
    assert telling.optional() == []


@pytest.mark.parametrize("exercise", TRACK, ids=lambda e: e.key)
def test_it_fails_as_shipped_passes_when_solved_and_knows_its_wrong_attempts(
    exercise: Exercise, workshop: Workshop
) -> None:
    proof = prove(exercise, workshop, SEED)
    assert proof.complaints == []
    assert len(set(proof.messages.values())) == len(proof.messages) >= 3
    if exercise.name != "05_small_world":
        assert proof.slowest < LONGEST_CHECK


def test_exercises_of_torch_go_on_in_a_worker_that_has_tensorflow(workshop: Workshop) -> None:
    assert prove(find("6_tensorflow/01_tape"), workshop, SEED).complaints == []
    assert prove(find("3_losses/01_td_target"), workshop, SEED).complaints == []


@pytest.mark.parametrize("target", ["tf.norm", "tf.Variable.assign"])
def test_a_replaced_part_of_tensorflow_is_named(workshop: Workshop, tmp_path: Path, target: str) -> None:
    exercise = find("6_tensorflow/02_none")
    file = tmp_path / "attempt.py"
    source = f"import tensorflow as tf\n{target} = lambda *args, **kwargs: None\n{exercise.solution}"
    file.write_text(source, encoding="utf-8")
    verdict = Examiner(exercise, workshop, SEED).check(source, file)
    assert not verdict.passed
    assert f"your code replaces tensorflow.{target.removeprefix('tf.')}" in verdict.message


def test_the_notebook_passes_with_the_answers_filled_in(tmp_path: Path) -> None:
    made, _ = notebook.write(tmp_path)
    assert tmp_path / "6_tensorflow.ipynb" in made
    history = [""]
    try:
        for exercise in TRACK:
            history.append(notebook.cell(exercise, exercise.shipped))
            assert _checked(exercise, history).startswith("not yet ")
            history.append(notebook.cell(exercise, exercise.solution))
            assert _checked(exercise, history) == f"passed  {exercise.key}  {exercise.title}\n"
    finally:
        notebook._workshop().close()


def _checked(exercise: Exercise, history: list[str]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        notebook.check(exercise.key, history)
    return printed.getvalue()
