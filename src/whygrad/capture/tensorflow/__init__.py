"""Watches a TensorFlow run and turns it into a trace."""

import importlib.util

import tensorflow as tf

from whygrad.capture import frames
from whygrad.capture.tensorflow.capture import Capture


def _home(package: str) -> str | None:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    return spec.origin if spec is not None else None


frames.framework(tf.__file__, *(_home(package) for package in ("keras", "tf_keras")))

__all__ = ["Capture"]
