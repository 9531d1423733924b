"""Has the learner's code replaced parts of the libraries that it is judged with?

The verdict is given outside the learner's process, from numbers; but the numbers are taken inside it.
"""

from __future__ import annotations

import builtins
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

Key = tuple[str, str]
Change = Callable[[], str]
"""Asked again later: the first thing that is no longer what it was; empty when all is as before."""


def seal() -> Change:
    """Remember everything as it is now. A function, because whygrad looks for networks in what frames hold, and would
    look through the thousands of entries of a dictionary again and again."""
    before = _snapshot()
    return lambda: _changed(before)


def _snapshot() -> dict[Key, Any]:
    """Every function and class of the libraries, and the code of whygrad's functions."""
    out: dict[Key, Any] = {}
    for title, space in _spaces():
        for name, value in list(space.items()):
            if callable(value):
                out[title, name] = value
                if title.startswith("whygrad"):
                    out[title, f"{name}.__code__"] = getattr(value, "__code__", None)
    return out


def _changed(before: dict[Key, Any]) -> str:
    after = _snapshot()
    for key, value in before.items():
        if after.get(key) is not value:
            return f"{key[0]}.{key[1].removesuffix('.__code__')}"
    return ""


def _spaces() -> Iterator[tuple[str, dict[str, Any]]]:
    import torch

    yield "builtins", vars(builtins)
    yield "json", vars(json)
    yield "math", vars(math)
    yield "torch", vars(torch)
    for part in (
        torch.Tensor,
        torch.nn.Module,
        torch.nn.Linear,
        torch.optim.Optimizer,
        torch.optim.SGD,
        torch.optim.Adam,
    ):
        yield f"torch.{part.__name__}", dict(vars(part))
    for module in (torch.autograd, torch.nn.functional, torch.distributions, torch.nn.utils):
        yield module.__name__, vars(module)
    if "tensorflow" in sys.modules:
        yield from _tensorflow(sys.modules["tensorflow"])
    for name, own in list(sys.modules.items()):
        if name.partition(".")[0] == "whygrad":
            yield from _inside(name, own)


def _tensorflow(tf: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "tensorflow", vars(tf)
    for part in (tf.GradientTape, tf.Variable, tf.Tensor, tf.keras.Model, tf.keras.optimizers.Optimizer):
        yield f"tensorflow.{part.__name__}", dict(vars(part))


def _inside(name: str, module: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, vars(module)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name:
            yield f"{name}.{value.__name__}", dict(vars(value))
