"""Parameters that are used together: those of the modules that run around the first use of one."""

from __future__ import annotations

import weakref
from typing import Any

from whygrad.capture.torch import modules
from whygrad.capture.torch.parameters import Parameters


class Family:
    """One for all parameters of a module: a set for each of them would grow with the square of their number."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._members: dict[int, weakref.ref[Any]] = {}
        self._numbers: set[int] = set()
        self._known = 0
        """How many of the register were looked at."""
        self.inner: dict[int, int] = {}
        """When each of the modules inside was read."""
        self._frozen: frozenset[int] = frozenset()

    def add(self, held: list[Any]) -> None:
        fresh = [tensor for tensor in held if not self._has(tensor)]
        for tensor in fresh:
            self._members[id(tensor)] = weakref.ref(tensor)
        if fresh:
            self._known = 0

    def let_go(self, tensor: Any) -> None:
        """Whoever is known stays a member, by number."""
        if self._has(tensor):
            self.update()
            del self._members[id(tensor)]

    def _has(self, tensor: Any) -> bool:
        known = self._members.get(id(tensor))
        return known is not None and known() is tensor

    def update(self) -> None:
        """Find those that have come into the register since, while they live."""
        for known in self._parameters.known_list[self._known :]:
            tensor = known.ref()
            if tensor is not None and self._has(tensor):
                self._numbers.add(known.number)
        self._known = len(self._parameters.known_list)

    def numbers(self) -> frozenset[int]:
        self.update()
        if len(self._frozen) != len(self._numbers):
            self._frozen = frozenset(self._numbers)
        return self._frozen


class Families:
    """By the outermost module that runs."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._found: dict[int, tuple[weakref.ref[Any], int, Family]] = {}
        self._all: weakref.WeakSet[Family] = weakref.WeakSet()

    def let_go(self, tensor: Any) -> None:
        for family in self._all:
            family.let_go(tensor)

    def around(self, enclosing: tuple[Any, ...], now: int) -> Family | None:
        """The family of these modules, innermost first; what the outermost holds is read once in an update."""
        if not enclosing:
            return None
        outermost = enclosing[-1]
        ref, read, family = self._found.get(id(outermost), (None, -1, None))
        if family is None or ref is None or ref() is not outermost:
            read, family = -1, Family(self._parameters)
            self._all.add(family)
        if read != now:
            family.add(modules.parameters(outermost))
            self._found[id(outermost)] = (weakref.ref(outermost), now, family)
        for inner in enclosing[:-1]:
            if family.inner.get(id(inner)) != now:
                family.inner[id(inner)] = now
                family.add(modules.parameters(inner))
        family.update()
        return family
