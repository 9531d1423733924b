"""Anything that a learner's function may return, as data that can be sent and judged."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Tensors and arrays as nested lists of numbers; what is no data as its type's name in angle brackets."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "detach"):
        return value.detach().cpu().tolist() if value.device.type != "meta" else "<meta tensor>"
    if hasattr(value, "tolist"):
        return value.tolist()
    return f"<{type(value).__name__}>"


def flat(value: Any) -> list[float]:
    """All numbers of a nested list, in order."""
    if isinstance(value, list):
        return [number for entry in value for number in flat(entry)]
    return [float(value)] if isinstance(value, (int, float)) else [math.nan]
