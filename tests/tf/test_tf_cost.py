"""What watching leaves behind when its window is over, counted in calls: clocks are at the mercy of other processes."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow import keras

import whygrad

WARM, STEPS = 20, 20
MOST = 0.02
"""Of the calls that a plain step makes, Python's and C's."""


def training(compiled: bool) -> Callable[[], object]:
    net = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(2)])
    net.build((None, 8))
    optimizer, obs = keras.optimizers.Adam(1e-3), tf.ones([4, 8])

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(obs) - 1.0))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))
        return loss

    return tf.function(step) if compiled else step


def calls(step: Callable[[], object]) -> float:
    """Of one step, when nothing happens for the first time any more."""
    for _ in range(WARM):
        step()
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(STEPS):
        step()
    profile.disable()
    return pstats.Stats(profile).total_calls / STEPS  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
def test_a_step_after_the_window_is_a_plain_step(compiled: bool) -> None:
    plain = calls(training(compiled))
    with whygrad.watch(budget=0) as session:
        watched = calls(training(compiled))
        assert not session.captures["tensorflow"].tracing
    assert plain <= watched * (1 + MOST)
    assert watched <= plain * (1 + MOST)
