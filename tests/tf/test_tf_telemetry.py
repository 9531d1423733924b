"""Gradients before and after clipping, read back from what was written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TRAINING = """
import hashlib, sys
import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.keras.utils.set_random_seed(3)
actor = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(2)])
critic = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
actor.build((None, 4))
critic.build((None, 4))
actor_optimizer = keras.optimizers.SGD(0.05, clipnorm=0.1)
critic_optimizer = keras.optimizers.Adam(1e-2)

def update(obs):
    with tf.GradientTape() as tape:
        value_loss = tf.reduce_mean(tf.square(critic(obs) - tf.random.normal([16, 1])))
    grads = tape.gradient(value_loss, critic.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 0.2)
    critic_optimizer.apply_gradients(zip(grads, critic.trainable_variables))
    with tf.GradientTape() as tape:
        logits = actor(obs)
        actions = tf.random.categorical(logits, 1)[:, 0]
        logs = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
        policy_loss = -tf.reduce_mean(logs * tf.stop_gradient(critic(obs)[:, 0]))
    grads = tape.gradient(policy_loss, actor.trainable_variables)
    actor_optimizer.apply_gradients(zip(grads, actor.trainable_variables))

step = tf.function(update) if sys.argv[1] == "function" else update
for _ in range(15):
    step(tf.random.normal([16, 4]))
weights = [*actor.trainable_variables, *critic.trainable_variables]
print(hashlib.sha256(b"".join(np.array(w).tobytes() for w in weights)).hexdigest())
"""


def run(folder: Path, *command: str, script: str = TRAINING) -> str:
    (folder / "train.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def scalars(folder: Path) -> dict[str, list[float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    return {tag: [event.value for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


@pytest.mark.parametrize("mode", ["eager", "function"])
def test_telemetry_sees_both_sides_of_clipping_and_changes_nothing(tmp_path: Path, mode: str) -> None:
    plain = run(tmp_path, "train.py", mode)
    asked = ("--budget", "100", "--log", "out.jsonl", "--tensorboard", "tb")
    assert run(tmp_path, "-m", "whygrad", "run", "-q", *asked, "train.py", mode) == plain
    found = records(tmp_path)
    assert len(found) == 30
    actor = [r for r in found if r["optimizer"] == "actor_optimizer"]
    critic = [r for r in found if r["optimizer"] == "critic_optimizer"]
    assert [len(actor), len(critic)] == [15, 15]
    assert all(r["clipped_norm"] <= 0.2 * (1 + 1e-5) for r in critic)
    assert all(r["raw_norm"] >= r["clipped_norm"] * (1 - 1e-6) for r in found)
    assert all(p["clipped"]["norm"] <= 0.1 * (1 + 1e-5) for r in actor for p in r["parameters"])
    assert {name for r in found for name in r["losses"]} == {"value_loss", "policy_loss"}
    written = scalars(tmp_path / "tb")
    assert written["clipped/critic_optimizer/norm"] == pytest.approx([r["clipped_norm"] for r in critic], rel=1e-5)


def test_the_default_run_changes_nothing_either(tmp_path: Path) -> None:
    for mode in ("eager", "function"):
        assert run(tmp_path, "-m", "whygrad", "run", "-q", "train.py", mode) == run(tmp_path, "train.py", mode)


FITTING = """
import hashlib, sys
import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(3)
model = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
model.build((None, 4))
options = {"default": {}, "xla": {"jit_compile": True}, "eager": {"run_eagerly": True}}[sys.argv[1]]
model.compile(keras.optimizers.Adam(1e-2, global_clipnorm=0.1), "mse", **options)
obs = np.random.default_rng(0).normal(size=(160, 4)).astype("float32")
model.fit(obs, 2 * obs[:, :1], epochs=2, batch_size=16, verbose=0)
print(hashlib.sha256(b"".join(w.numpy().tobytes() for w in model.trainable_variables)).hexdigest())
"""


@pytest.mark.parametrize("mode", ["default", "eager"])
def test_every_step_of_keras_fit_can_be_sampled(tmp_path: Path, mode: str) -> None:
    plain = run(tmp_path, "train.py", mode, script=FITTING)
    asked = ("-m", "whygrad", "run", "-q", "--budget", "100", "--log", "out.jsonl", "train.py", mode)
    assert run(tmp_path, *asked, script=FITTING) == plain
    found = records(tmp_path)
    assert len(found) == 20
    assert {name for r in found for name in r["losses"]} == {"loss"}
    assert [len(r["parameters"]) for r in found] == [4] * 20
    assert all(r["clipped_norm"] <= 0.1 * (1 + 1e-5) for r in found)
    assert found[0]["raw_norm"] > 1.0


def test_what_xla_compiles_is_left_alone_and_said_to_be(tmp_path: Path) -> None:
    plain = run(tmp_path, "train.py", "xla", script=FITTING)
    asked = ("-m", "whygrad", "run", "-q", "--budget", "100", "--log", "out.jsonl", "--json", "report.json")
    assert run(tmp_path, *asked, "train.py", "xla", script=FITTING) == plain
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["limits"] == ["gradients inside a function compiled by XLA (jit_compile=True) are not sampled"]
    assert report["updates"] == 20
    assert {parameter["grad"] for parameter in report["parameters"]} == {"nonzero"}


def test_histograms_count_every_value() -> None:
    from whygrad.capture.tensorflow.statistics import measured
    from whygrad.telemetry.histogram import Histogram

    values = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.random.default_rng(1).integers(-8, 4, 1000)
    values[:10], values[10:13] = 0.0, np.nan
    found = measured(values)
    assert found.histogram == Histogram.of(values.tolist())
    assert found.zeros == 0.01
    assert found.nonfinite == 0.003


def test_limits_of_an_optimizer_are_applied_as_keras_does() -> None:
    import tensorflow as tf
    from tensorflow import keras

    from whygrad.capture.tensorflow.statistics import limit_of, limited

    gradients = [np.array([3.0, 4.0], "float32"), np.array([0.1], "float32"), np.array([-2.0, 0.0], "float32")]
    for setting in ({"clipnorm": 1.0}, {"global_clipnorm": 1.0}, {"clipvalue": 0.5}, {}):
        optimizer = keras.optimizers.SGD(1.0, **setting)
        variables = [tf.Variable(np.zeros_like(gradient)) for gradient in gradients]
        optimizer.apply_gradients([(tf.constant(g), v) for g, v in zip(gradients, variables, strict=True)])
        ours = limited(gradients, limit_of(optimizer))
        for variable, gradient in zip(variables, ours, strict=True):
            np.testing.assert_allclose(-variable.numpy(), gradient, rtol=1e-5)
