"""What `observe` of an exercise looks with, in the learner's process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from whygrad.asking import explain

VERBS = {
    "leave": "turned it into a plain number",
    "copy": "copied it into a new tensor",
    "flag": "switched requires_grad on after the history was lost",
    "detach": "detached it",
    "no-grad": "computed it while gradient was off",
    "discrete": "made a discrete choice of it",
    "sample": "drew a sample that has no gradient",
}


class WrongError(Exception):
    """Nothing to look at: the sentence is the verdict. It can only fail an attempt, never pass it."""


class Code:
    """The names of the learner's file."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise WrongError(f"your file no longer has `{name}`, which the check asks for")
        return self._names[name]


def tensor(value: Any, what: str, shape: Iterable[int] | None = None) -> Tensor:
    """The value, if it is a tensor of this shape; else a sentence about what it is."""
    if not isinstance(value, Tensor):
        article = "None: is there a return?" if value is None else f"a {type(value).__name__}"
        raise WrongError(f"{what} should be a tensor, and is {article}")
    if shape is not None and tuple(value.shape) != tuple(shape):
        raise WrongError(f"{what} should have shape {shaped(shape)}, and has {shaped(value.shape)}")
    return value


def shaped(shape: Iterable[int]) -> str:
    numbers = [str(int(n)) for n in shape]
    return f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"


def differentiable(loss: Any, *modules: torch.nn.Module | Tensor, what: str = "your loss") -> Tensor:
    """The loss, if it reaches every parameter of these by gradient; else where the way ends."""
    value = loss if isinstance(loss, Tensor) else torch.as_tensor(_number(loss, what))
    parameters = [p for m in modules for p in (m.parameters() if isinstance(m, torch.nn.Module) else [m])]
    reached, cut = reach(value, parameters)
    if reached < len(parameters):
        raise WrongError(f"{what} reaches {reached} of {len(parameters)} parameters: {cut}")
    return tensor(loss, what, ())


def _number(value: Any, what: str) -> float:
    if not isinstance(value, (int, float)):
        raise WrongError(f"{what} should be a tensor, and is a {type(value).__name__}: is there a return?")
    return float(value)


def reach(loss: Tensor, parameters: list[Tensor]) -> tuple[int, str]:
    """How many of the parameters it reaches, and what is in the way of the first that it does not."""
    found = explain(loss, parameters)
    reason = next(iter(found.missing.values()), "")
    return len(found.reached), _said(reason)


def _said(reason: str) -> str:
    """whygrad's line for a debugger, `cut at FILE:LINE by TEXT (KIND)`, as a sentence for a student."""
    if not reason.startswith("cut at "):
        return reason
    place, _, rest = reason.removeprefix("cut at ").partition(" by ")
    text, _, kind = rest.removesuffix(")").rpartition(" (")
    line = place.rpartition(":")[2]
    where = f"line {line} (`{text}`)" if line.isdecimal() else f"`{text}`"
    return f"{where} {VERBS.get(kind, 'ended the graph')}"


def weights(module: torch.nn.Module) -> list[float]:
    return [number for p in module.parameters() for number in p.detach().flatten().tolist()]


def network(inputs: int, outputs: int) -> torch.nn.Sequential:
    """Small, and smooth, so that no gradient is zero by accident."""
    return torch.nn.Sequential(torch.nn.Linear(inputs, 16), torch.nn.Tanh(), torch.nn.Linear(16, outputs))


def flow(loss: Tensor, **modules: torch.nn.Module) -> dict[str, list[float] | None]:
    """What backward from this loss leaves in each module: all its numbers, or None where nothing arrives."""
    for module in modules.values():
        module.zero_grad()
    loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    return {name: _collected(module) for name, module in modules.items()}


def _collected(module: torch.nn.Module) -> list[float] | None:
    found = [p.grad for p in module.parameters() if p.grad is not None]
    return [number for gradient in found for number in gradient.flatten().tolist()] if found else None
