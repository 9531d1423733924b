"""What `observe` of an exercise looks with where the learner's code is TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from whygrad.learn.seeing import WrongError, shaped


def tensor(value: Any, what: str, shape: Iterable[int]) -> list[Any] | float:
    """The numbers, if it is a tensor of this shape; else a sentence about what it is."""
    if not tf.is_tensor(value):
        article = "None: is there a return?" if value is None else f"a {type(value).__name__}"
        raise WrongError(f"{what} should be a tensor, and is {article}")
    if tuple(value.shape) != tuple(shape):
        raise WrongError(f"{what} should have shape {shaped(shape)}, and has {shaped(value.shape)}")
    found: list[Any] | float = value.numpy().tolist()
    return found


def numbers(value: Any) -> list[float]:
    """All numbers of a tensor, an array or a variable, in order."""
    found: list[float] = tf.reshape(tf.cast(value, tf.float64), [-1]).numpy().tolist()
    return found


def weights(model: Any) -> list[float]:
    return [number for variable in model.trainable_variables for number in numbers(variable)]


def network(inputs: int, outputs: int) -> Any:
    """Small, and smooth, so that no gradient is zero by accident."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model
