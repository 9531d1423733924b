"""What watching costs a TensorFlow script: idle hooks, steps after the window, and the tracing of a function.

    .venv-tf/bin/python benchmarks/tensorflow_cost.py

Steps are taken by processes that live side by side and take turns, one plain and one watched from its start: a machine
that is busy with something else disturbs both alike. Two plain ones show what such a comparison is worth: memory lies
elsewhere in each process. Medians over the turns of several pairs are printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow import keras

import whygrad

WARM = 40
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


class Runner:
    """A process of its own with one training, which takes so many steps when it is asked."""

    def __init__(self, width: int, *, watched: bool, compiled: bool) -> None:
        flags = ["--watched"] * watched + ["--compiled"] * compiled
        command = [sys.executable, __file__, "--serve", "--width", str(width), *flags]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Runner:
        self.take(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def take(self, steps: int) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def serve(width: int, *, watched: bool, compiled: bool) -> None:
    """The other side: every line asks for so many steps, and is answered with the seconds that they took."""
    with ExitStack() as during:
        if watched:
            session = during.enter_context(whygrad.watch(budget=0))
        step = training(width, compiled=compiled)
        timed(step, WARM)
        if watched:
            assert not session.captures["tensorflow"].tracing, "the window is still open"
        for line in sys.stdin:
            print(timed(step, int(line)), flush=True)


def after_the_window(options: argparse.Namespace, *, watched: bool, compiled: bool) -> list[float]:
    """Of every pair the median ratio of its turns; with two plain processes if it is not watched."""
    medians = []
    for _ in range(options.pairs):
        with (
            Runner(options.width, watched=False, compiled=compiled) as plain,
            Runner(options.width, watched=watched, compiled=compiled) as other,
        ):
            alone, beside = [], []
            for _ in range(options.rounds):
                alone.append(plain.take(options.steps))
                beside.append(other.take(options.steps))
            medians.append(statistics.median(b / a for a, b in zip(alone, beside, strict=True)))
    return medians


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
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=256)
    for flag in ("--serve", "--watched", "--compiled"):
        parser.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.width, watched=options.watched, compiled=options.compiled)
        return
    for compiled in (False, True):
        kind = "steps of a tf.function" if compiled else "eager steps"
        for watched in (False, True):
            ratios = after_the_window(options, watched=watched, compiled=compiled)
            percents = sorted(100 * (ratio - 1) for ratio in ratios)
            what = "watched, after the window" if watched else "a second plain process"
            spread = f"{percents[0]:+.1f} to {percents[-1]:+.1f}"
            print(f"{kind}, {what}: {statistics.median(percents):+.1f} % ({spread})", flush=True)
    first_call(options.width, 1)
    print(f"first call of a tf.function: {first_call(options.width, options.rounds):.2f} times as long", flush=True)


if __name__ == "__main__":
    main()
