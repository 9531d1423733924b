"""What watching costs a TensorFlow script: idle hooks, steps after the window, and the tracing of a function.

    .venv-tf/bin/python benchmarks/tensorflow_cost.py

Plain and watched runs take turns, and medians of their ratios are printed: a machine that is busy with something else
disturbs both alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow import keras

import whygrad

WARM = 12
"""Steps before the clock: more than a window takes."""


def network(width: int) -> Any:
    layers = [keras.layers.Dense(width, activation="tanh"), keras.layers.Dense(width, activation="tanh")]
    model = keras.Sequential([*layers, keras.layers.Dense(2)])
    model.build((None, 8))
    return model


def training(width: int, *, compiled: bool) -> Callable[[], object]:
    net, optimizer = network(width), keras.optimizers.Adam(1e-3)
    obs = tf.random.normal([64, 8])

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(obs) - 1.0))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))
        return loss

    return tf.function(step) if compiled else step


def timed(step: Callable[[], object], steps: int) -> float:
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - start


def after_the_window(width: int, steps: int, rounds: int, *, compiled: bool) -> float:
    """Steps of one program, watched from its start, against the same program plain."""
    plain = training(width, compiled=compiled)
    timed(plain, WARM)
    ratios = []
    for _ in range(rounds):
        alone = timed(plain, steps)
        with whygrad.watch(budget=0):
            watched = training(width, compiled=compiled)
            timed(watched, WARM)
            ratios.append(timed(watched, steps) / alone)
    return statistics.median(ratios)


def first_call(width: int, rounds: int) -> float:
    """The first call of a function, which is traced, watched against plain."""
    ratios = []
    for _ in range(rounds):
        plain = timed(training(width, compiled=True), 1)
        with whygrad.watch(budget=0):
            ratios.append(timed(training(width, compiled=True), 1) / plain)
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    first_call(options.width, 1)
    for compiled in (False, True):
        ratio = after_the_window(options.width, options.steps, options.rounds, compiled=compiled)
        kind = "steps of a tf.function" if compiled else "eager steps"
        print(f"{kind} after the window: {100 * (ratio - 1):+.1f} %", flush=True)
    print(f"first call of a tf.function: {first_call(options.width, options.rounds):.2f} times as long", flush=True)


if __name__ == "__main__":
    main()
