"""`whygrad.explain(tape, loss, variables)` and the table of gradients."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow import keras

import whygrad


def forward() -> tuple[Any, Any, Any]:
    hidden, out = keras.layers.Dense(3, name="hidden"), keras.layers.Dense(1, name="out")
    model = keras.Sequential([hidden, out])
    model.build((None, 4))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(out(tf.stop_gradient(hidden(tf.ones([2, 4])))))
    return model, tape, loss


def test_inside_a_watch_the_line_is_named_and_the_tape_is_not_used_up() -> None:
    with whygrad.watch():
        model, tape, loss = forward()
        found = whygrad.explain(tape, loss, model)
        assert found.reached == ("out.kernel", "out.bias")
        assert set(found.missing) == {"hidden.kernel", "hidden.bias"}
        assert "stop_gradient" in found.missing["hidden.kernel"]
        assert not found
        assert tape.gradient(loss, model.trainable_variables)[0] is None


def test_without_a_watch_it_says_what_the_tape_tells_and_no_more() -> None:
    model, tape, loss = forward()
    other = tf.Variable([1.0], name="other")
    found = whygrad.explain(tape, loss, [*model.trainable_variables, other])
    assert found.missing == {"other": "the tape does not watch it"}
    assert not found.certain
    assert str(found).startswith("gradient reaches at most 4 of 5 parameters")
    assert tape.gradient(loss, model.trainable_variables)[2] is not None


def test_a_loss_that_no_tape_follows() -> None:
    model, tape, _ = forward()
    found = whygrad.explain(tape, tf.constant(1.0), model)
    assert found.reached == ()
    assert not found.has_graph


def test_other_arguments_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"a tf\.GradientTape first, not int"):
        whygrad.explain(1, 2, 3)
    with pytest.raises(ValueError, match="takes a loss and a module"):
        whygrad.explain(1)  # type: ignore[call-overload]


def test_the_table_shows_numbers_and_what_is_missing() -> None:
    model, tape, loss = forward()
    lines = whygrad.gradient_table(tape.gradient(loss, model.trainable_variables), model).splitlines()
    assert lines[0].split() == ["variable", "shape", "norm", "largest", "zeros"]
    assert lines[1].split() == ["hidden.kernel", "4x3", "None"]
    assert lines[4].split() == ["out.bias", "1", "1", "1", "0%"]
