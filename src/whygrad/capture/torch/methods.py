"""Methods of tensors as torch wrote them: a script may put its own in their place, to count who waits for a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_own: Any = torch._C.TensorBase
Method = Callable[[torch.Tensor], torch.Tensor]

absolute: Method = _own.abs
all_of: Method = _own.all
any_of: Method = _own.any
clone: Method = _own.clone
cpu: Method = _own.cpu
detach: Method = _own.detach
double: Method = _own.double
gradient: Callable[[torch.Tensor], torch.Tensor | None] = _own.grad.__get__
"""`.grad`, which may be a property of the script's own in a kind of parameters of its own."""
item: Callable[[torch.Tensor], Any] = _own.item
tolist: Callable[[torch.Tensor], Any] = _own.tolist


def number(value: Any) -> float:
    """As `float`."""
    return float(item(value) if isinstance(value, torch.Tensor) else value)


def whole(value: Any) -> int:
    """As `int`."""
    return int(item(value) if isinstance(value, torch.Tensor) else value)


def true(value: Any) -> bool:
    """As `bool`, of one value."""
    return bool(item(value) if isinstance(value, torch.Tensor) else value)
