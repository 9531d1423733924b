"""`whygrad.explain(loss, module)`: one loss, asked about directly, in a debugger or a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def explain(loss: Any, target: Any) -> str:
    raise NotImplementedError
