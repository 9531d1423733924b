"""Where an agent's settings come from: its defaults, what suits the environment, what the caller says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch

SIGNED = frozenset({"log_std", "target_entropy"})
COUNTS = frozenset(
    {"steps", "envs", "rollout", "minibatch", "batch", "epochs", "capacity", "train_every", "target_every", "episodes"}
)
POSITIVE = frozenset({"temperature", "tau"})
C = TypeVar("C")
Presets = Mapping[str, Mapping[str, Any]]


def settle(default: C, presets: Presets, source: object, config: C | None, overrides: Mapping[str, Any]) -> C:
    """A given configuration, or the defaults with the preset of the environment; then the overrides."""
    known = [field.name for field in fields(default)]  # type: ignore[arg-type]
    wrong = [name for name in overrides if name not in known]
    if wrong:
        raise ValueError(f"there is no setting {wrong[0]!r}; there are {', '.join(known)}")
    preset = presets.get(source, {}) if isinstance(source, str) else {}
    base = config if config is not None else replace(default, **preset)  # type: ignore[type-var]
    given = {name: value for name, value in overrides.items() if value is not None}
    settled: C = replace(base, **given)  # type: ignore[type-var]
    _check(settled)
    return settled


def _check(config: Any) -> None:
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and field.name not in SIGNED and value < 0:
            raise ValueError(f"{field.name} must not be negative, and is {value}")
        if field.name in COUNTS and value < 1:
            raise ValueError(f"{field.name} must be at least 1, and is {value}")
        if field.name == "hidden" and any(width < 1 for width in value):
            raise ValueError(f"hidden layers must have at least 1 unit, and are {' '.join(map(str, value))}")
        if field.name in POSITIVE and value == 0:
            raise ValueError(f"{field.name} must be above 0")


def place(device: str) -> str:
    """The device, if it is there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"the device {device!r} is not available: {str(error).splitlines()[0]}") from error
    return device
