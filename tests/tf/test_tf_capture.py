"""What the capture of a TensorFlow run records, asked directly."""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow import keras

import whygrad
from whygrad.report.model import Report


def network(outputs: int = 2) -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, 4))
    return model


def watched(train: Callable[[], object], **options: Any) -> Report:
    with whygrad.watch(**options) as session:
        train()
    return session.report


def loud(report: Report) -> list[str]:
    return [finding.code for finding in report.loud]


def updating(loss: Callable[[Any], Any], *, compiled: bool, updates: int = 6) -> tuple[Any, Callable[[], None]]:
    net, optimizer = network(), keras.optimizers.SGD(0.1)

    def step(obs: Any) -> None:
        with tf.GradientTape() as tape:
            value = loss(net(obs))
        grads = tape.gradient(value, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    run = tf.function(step) if compiled else step

    def train() -> None:
        for _ in range(updates):
            run(tf.ones([3, 4]))

    return net, train


@pytest.mark.parametrize("compiled", [False, True])
def test_a_healthy_run_counts_every_update_and_trains_every_variable(compiled: bool) -> None:
    _, train = updating(lambda q: tf.reduce_mean(tf.square(q - 1.0)), compiled=compiled)
    report = watched(train)
    assert loud(report) == []
    assert report.updates == 6
    assert {parameter.grad for parameter in report.parameters} == {"nonzero"}
    assert report.framework.startswith("tensorflow 2.")


@pytest.mark.parametrize("compiled", [False, True])
def test_partly_missing_gradients_are_named_although_tensorflow_goes_on(compiled: bool) -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1)

    def step(obs: Any) -> None:
        with tf.GradientTape() as tape:
            hidden = tf.stop_gradient(net.layers[0](obs))
            loss = tf.reduce_mean(net.layers[1](hidden))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    run = tf.function(step) if compiled else step
    report = watched(lambda: [run(tf.ones([3, 4])) for _ in range(4)])
    (finding,) = report.loud
    assert finding.code == "WG103"
    assert "tf.stop_gradient" in finding.fix
    assert len(finding.parameters) == 2


def test_the_words_are_those_of_tensorflow() -> None:
    _, train = updating(lambda q: tf.reduce_mean(tf.stop_gradient(q)), compiled=False)
    with pytest.raises(ValueError, match="No gradients provided") as raised, whygrad.watch() as session:
        train()
    (finding,) = session.report.loud
    said = " ".join([finding.message, finding.here, finding.why, finding.seen, finding.fix])
    assert not any(word in said for word in ("torch", "backward", "requires_grad", "detach()"))
    assert any("whygrad[WG103]" in note for note in raised.value.__notes__)


def test_everything_is_put_back_when_the_watching_ends() -> None:
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.framework import func_graph

    def places() -> list[Any]:
        return [
            tf.GradientTape.gradient,
            tf.GradientTape._push_tape,
            tf.GradientTape._pop_tape,
            tf.GradientTape.stop_recording,
            keras.optimizers.Optimizer.apply_gradients,
            tf.clip_by_norm,
            tf.clip_by_global_norm,
            pywrap_tfe.TFE_Py_FastPathExecute,
            func_graph.func_graph_from_py_func,
            tf.Variable([0.0]).__class__.__init__,
        ]

    before = places()
    _, train = updating(lambda q: tf.reduce_mean(tf.square(q)), compiled=True)
    watched(train)
    assert places() == before


def test_operations_are_recorded_only_until_enough_was_seen() -> None:
    _, train = updating(lambda q: tf.reduce_mean(tf.square(q)), compiled=False, updates=12)
    with whygrad.watch(updates=2) as session:
        train()
        assert not session.captures["tensorflow"].tracing
        seen = session.captures["tensorflow"].recorder.calls
        train()
        assert session.captures["tensorflow"].recorder.calls == seen
    assert session.report.updates == 24


def test_a_function_that_is_traced_late_is_seen_all_the_same() -> None:
    _, first = updating(lambda q: tf.reduce_mean(tf.square(q)), compiled=True)
    _, second = updating(lambda q: tf.reduce_mean(tf.square(tf.round(q * 3.0))), compiled=True)

    def train() -> None:
        first()
        with pytest.raises(ValueError, match="No gradients"):
            second()
        first()

    with whygrad.watch() as session:
        train()
    trace_ended = session.captures["tensorflow"]
    assert len(trace_ended.gradients.backwards) >= 2
    assert trace_ended.gradients.backwards[-1].deposits == frozenset()


def test_functions_traced_before_the_watching_do_not_keep_the_recording_open() -> None:
    _, before = updating(lambda q: tf.reduce_mean(tf.square(q)), compiled=True, updates=100)
    before()
    net, optimizer = network(), keras.optimizers.SGD(0.1)
    with whygrad.watch() as session:
        before()
        capture = session.captures["tensorflow"]
        assert not capture.tracing
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(net.layers[1](tf.stop_gradient(net.layers[0](tf.ones([3, 4])))))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))
            before()
    assert loud(session.report) == ["WG103"]


def test_a_long_rollout_by_functions_is_no_reason_to_miss_the_update_that_follows() -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1)
    act = tf.function(lambda obs: tf.argmax(net(obs), axis=1))

    def train() -> None:
        for _ in range(4):
            for _ in range(100):
                act(tf.ones([1, 4]))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(tf.ones([3, 4])) - 1.0))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    with whygrad.watch() as session:
        train()
        assert len(session.captures["tensorflow"].gradients.backwards) == 3
    assert session.report.updates == 4


def test_a_variable_is_known_by_where_it_was_made_not_by_who_wrote_to_it_last() -> None:
    with whygrad.watch(trace="off") as session:
        made = tf.Variable(1.0)
        written = made.assign_add(1.0)
        variables = session.captures["tensorflow"].variables
        known = variables.of_handle(made.handle)
    assert written is not made
    assert known.ref() is made
    assert linecache.getline(__file__, known.created.site.line).strip() == "made = tf.Variable(1.0)"


@pytest.mark.parametrize("agents", [2, 9])
def test_agents_that_train_one_after_the_other_by_the_same_lines_are_all_healthy(agents: int) -> None:
    kept = [updating(lambda q: tf.reduce_mean(tf.square(q - 1.0)), compiled=False, updates=8) for _ in range(agents)]
    report = watched(lambda: [train() for _, train in kept])
    assert loud(report) == []
    assert report.updates == 8 * agents
    assert sum(parameter.grad == "nonzero" for parameter in report.parameters) == 4 * min(agents, 6)


def test_a_variable_that_the_tape_reaches_and_nobody_lists_is_named() -> None:
    body, head, optimizer = network(4), network(1), keras.optimizers.SGD(0.1)

    def train() -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(head(body(tf.ones([3, 4]))) - 1.0))
            grads = tape.gradient(loss, head.trainable_variables)
            optimizer.apply_gradients(zip(grads, head.trainable_variables, strict=True))

    report = watched(train)
    assert loud(report) == ["WG109"]
    assert "body" in report.loud[0].message


def test_clipping_each_variable_by_itself_is_noted_with_numbers() -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1, clipnorm=0.01)

    def train() -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(tf.ones([3, 4])) - 2.0))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    notes = [finding for finding in watched(train).findings if finding.code == "WG305" and finding.severity == "note"]
    assert len(notes) == 1
    assert notes[0].evidence["limit"] == 0.01
    assert notes[0].evidence["after"] == pytest.approx(0.02, rel=1e-3)  # Four variables, each at its limit.


def test_inside_a_function_the_numbers_of_clipping_come_from_telemetry(tmp_path: Path) -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1, clipnorm=0.01)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(tf.ones([3, 4])) - 2.0))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    run = tf.function(step)
    report = watched(lambda: [run() for _ in range(4)], log=str(tmp_path / "out.jsonl"))
    (note,) = [finding for finding in report.findings if finding.code == "WG305"]
    assert (note.severity, note.evidence["variables"]) == ("note", 4)
    assert note.evidence["after"] == pytest.approx(0.02, rel=1e-3)
    first = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert note.evidence["before"] == pytest.approx(first["raw_norm"], rel=1e-5)


def test_one_limit_for_all_is_no_matter() -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1, global_clipnorm=0.01)

    def train() -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(tf.ones([3, 4])) - 2.0))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    assert [finding for finding in watched(train).findings if finding.code == "WG305"] == []


def test_clipping_after_the_step_is_found() -> None:
    net, optimizer = network(), keras.optimizers.SGD(0.1)

    def train() -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(tf.ones([3, 4])) - 2.0))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables, strict=True))
            grads, _ = tf.clip_by_global_norm(grads, 0.5)

    assert loud(watched(train)) == ["WG304"]
