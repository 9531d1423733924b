"""Telemetry of a TensorFlow run."""

from __future__ import annotations

from whygrad.capture.budget import Budget
from whygrad.capture.options import Options


class Sampling:
    """Gradients, sampled within a budget."""

    def __init__(self, options: Options) -> None:
        self.budget = Budget(options.budget, options.clock)
