"""Names that stand for one network: the target that is the trained network itself."""

from __future__ import annotations

import re

import torch

from whygrad.capture.torch import modules
from whygrad.capture.torch.parameters import Parameters
from whygrad.trace import Alias

APART = re.compile(
    r"target|teacher|frozen|reference|(^|_)(ref|old|ema|targ|tgt|prev|previous|snapshot|slow|lagged|delayed|anchor)(_|\d|$)"
    r"|_(bar|prime)$|(old|ref)(policy|model|net|actor|critic)|(policy|model|net|actor|critic)_?(old|ref)$",
    re.IGNORECASE,
)
"""Words that promise a network of its own: one that stands still or lags behind."""
MOST_NAMES = 400


class Aliasing:
    """Which parameters each name of a module reaches."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._modules: dict[str, frozenset[int]] = {}
        self._before: dict[str, dict[int, int]] = {}
        """By name: steps that had used each parameter's gradient when the name was first seen on it."""

    def saw(self, path: str, module: torch.nn.Module) -> None:
        found = (self.parameters.find(p) for p in modules.parameters(module))
        numbers = frozenset(known.number for known in found if known is not None)
        if (
            numbers
            and numbers != self._modules.get(path)
            and (path in self._modules or len(self._modules) < MOST_NAMES)
        ):
            self._modules[path] = numbers
            self._before[path] = {number: self.parameters[number].consumed for number in numbers}

    def aliases(self) -> list[Alias]:
        """Pairs of an ordinary name and one that promises a network apart, with what they share and a step moves."""
        apart = {path: n for path, n in self._modules.items() if APART.search(_last(path)) and self._moves(path)}
        plain = {path: n for path, n in self._modules.items() if not APART.search(path)}
        out = []
        for path, numbers in apart.items():
            pairs = [
                (len(numbers & n), other)
                for other, n in plain.items()
                if numbers & n and not numbers < n and not _nested(path, other) and not _last(other).isdigit()
            ]  # What is a part of another network, and nothing besides, is one of its layers.
            if pairs:
                most = max(count for count, _ in pairs)
                other = min((o for count, o in pairs if count == most), key=lambda o: (o.startswith("self"), len(o)))
                shared = numbers & plain[other]
                out.append(Alias((path, other), shared, whole=shared == numbers))
        return out

    def _moves(self, path: str) -> bool:
        """A network that was trained until it got this name is the one that stands still from then on."""
        return any(self.parameters[number].consumed > before for number, before in self._before[path].items())


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _nested(path: str, other: str) -> bool:
    """`agent` holds `agent.target`: sharing is no surprise there."""
    return path.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{path}.", f"{path}["))
