"""What may stand between a network and its loss, whole and cut, eager and inside `tf.function`."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import tensorflow as tf
from tensorflow import keras

import whygrad

Between = Callable[[Any, Any], Any]
"""From a network and its input to what the loss is made of."""


def passing(cut: bool) -> Between:
    def custom(net: Any, obs: Any) -> Any:
        straight = tf.custom_gradient(lambda x: (3.0 * x, lambda upstream: None if cut else upstream))
        return straight(net(obs))  # custom gradient

    return custom


def called(cut: bool) -> Between:
    inner = tf.function(lambda x: tf.stop_gradient(x) * 2.0 if cut else x * 2.0)  # called
    return lambda net, obs: inner(net(obs))


def looped(cut: bool) -> Between:
    def body(step: Any, total: Any, output: Any) -> Any:
        return step + 1, total + (tf.stop_gradient(output) if cut else output), output  # looped

    def loop(net: Any, obs: Any) -> Any:
        output = net(obs)
        return tf.while_loop(lambda step, *_: step < 3, body, [tf.constant(0), tf.zeros_like(output), output])[1]

    return loop


def branched(cut: bool) -> Between:
    def branch(net: Any, obs: Any) -> Any:
        return tf.stop_gradient(net(obs)) if cut else net(obs)  # branched

    return lambda net, obs: tf.cond(tf.reduce_sum(obs) > 0.0, lambda: branch(net, obs), lambda: branch(net, -obs))


def mapped(cut: bool) -> Between:
    def row(net: Any, one: Any) -> Any:
        return tf.stop_gradient(net(one[None])[0]) if cut else net(one[None])[0]  # mapped

    return lambda net, obs: tf.map_fn(lambda one: row(net, one), obs)


def differentiated(cut: bool) -> Between:
    def penalty(net: Any, obs: Any) -> Any:
        """Together with the output: a slope says nothing of the last bias."""
        obs = obs * 1.0
        with tf.GradientTape() as tape:
            tape.watch(obs)
            output = net(obs)
        slope = tape.gradient(output, obs)
        if cut:
            return tf.stop_gradient(slope)  # differentiated
        return tf.concat([slope, net(obs)], axis=1)

    return penalty


MADE = {
    "custom gradient": passing,
    "called": called,
    "looped": looped,
    "branched": branched,
    "mapped": mapped,
    "differentiated": differentiated,
}


def network() -> Any:
    keras.utils.set_random_seed(1)
    net = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(2)])
    net.build((None, 4))
    return net


def train(net: Any, optimizer: Any, between: Between, compiled: bool) -> None:
    def step(obs: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(between(net, obs) - 0.3))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    run = tf.function(step) if compiled else step
    for _ in range(4):
        run(tf.fill([3, 4], 0.5))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", MADE)
def test_whole_it_is_left_alone(name: str, compiled: bool) -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1)
    with whygrad.watch() as session:
        train(net, optimizer, MADE[name](False), compiled)
    assert [finding.code for finding in session.report.loud] == []
    assert {parameter.grad for parameter in session.report.parameters} == {"nonzero"}


def complaint(name: str, compiled: bool) -> AbstractContextManager[object]:
    """TensorFlow's own; a loop inside a function gives zeros, about which it says nothing."""
    if compiled and name in ("looped", "mapped"):
        return nullcontext()
    return pytest.raises(ValueError, match="No gradients provided")


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", MADE)
def test_cut_the_line_is_named(name: str, compiled: bool) -> None:
    net, optimizer, session = network(), keras.optimizers.SGD(0.1), whygrad.watch()
    with complaint(name, compiled), session:
        train(net, optimizer, MADE[name](True), compiled)
    (finding,) = session.report.loud
    assert finding.code == ("WG113" if name == "custom gradient" else "WG103")
    assert finding.site is not None
    assert linecache.getline(__file__, finding.site.line).rstrip().endswith(f"# {name}")
