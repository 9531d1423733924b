"""What a traced update shows beside its gradients: the terms' shares, activations, signals of learning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygrad import wording
from whygrad.capture.torch.assembly import invented
from whygrad.source import expressions
from whygrad.telemetry.record import Activation
from whygrad.trace import Backward, Graph, Step
from whygrad.trace.activity import Activity, activity
from whygrad.trace.grouping import split
from whygrad.trace.signals import Signal, acts, signals
from whygrad.trace.terms import terms

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

MOST = 32
"""Backwards that may wait for the step that consumes them."""


@dataclass
class _Shown:
    """One traced backward."""

    backward: Backward
    names: dict[int, str]
    """What the user calls the terms of its loss."""
    activity: dict[int, Activity]
    signals: list[Signal]


@dataclass
class Showing:
    """One traced update of one optimizer, as plain numbers."""

    terms: dict[str, dict[str, float]]
    activations: dict[str, Activation]
    signals: dict[str, float]


class Shown:
    """Remembers what traced backwards showed until a step consumes them."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self._waiting: dict[int, _Shown] = {}
        self._policy = False
        """Some loss so far trains a policy."""
        self.variables: dict[tuple[str, str], dict[str, str]] = {}
        """By file and function: variables that were seen to hold a signal."""

    def look(self, backward: Backward, graph: Graph, root: int) -> None:
        parts = terms(graph, root)
        names = {part.op: wording.term(part) if len(parts) > 1 else backward.name for part in parts}
        found = signals(graph, backward, root, policy=self._policy)
        self._policy = self._policy or acts(found)
        self._waiting[backward.id] = _Shown(backward, names, activity(graph, root), found)
        while len(self._waiting) > MOST:
            del self._waiting[next(iter(self._waiting))]

    def of(self, step: Step) -> Showing:
        """What the backwards showed that this step consumes."""
        showing = Showing({}, {}, {})
        for number, shown in self._waiting.items():
            mine = {n for n, ids in step.consumed.items() if number in ids}
            if not mine:
                continue
            showing.terms.update(self._terms(shown, mine))
            for weight, found in shown.activity.items():
                if weight in mine:
                    name = self._name(weight)
                    layer = name.rpartition(".")[0] or name
                    showing.activations[layer] = Activation(found.saturates, found.idle, found.dead)
            for signal in shown.signals:
                showing.signals.setdefault(signal.name, signal.value)
                self._learn(signal)
        return showing

    def _learn(self, signal: Signal) -> None:
        """The variable that holds it at the step: under that name it can be found while nothing is traced."""
        site, variable = None, ""
        if signal.op is not None and signal.op.id in self.capture.keeping.names:
            site, (variable, _) = signal.op.site, self.capture.keeping.names[signal.op.id]
        elif signal.operand is not None:
            site, variable = signal.operand[0], expressions.operand(*signal.operand)
        if site is not None and not site.within and variable.isidentifier():
            self.variables.setdefault((site.file, site.function), {})[variable] = signal.name

    def _terms(self, shown: _Shown, mine: set[int]) -> dict[str, dict[str, float]]:
        """Norms by term and module; a module is split where its parts are trained by different terms."""
        squares = {key: value for key, value in shown.backward.squares.items() if key[1] in mine}
        reached = sorted({number for _, number in squares})
        outer: dict[str, list[int]] = {}
        for number in reached:
            outer.setdefault(self.capture.parameters[number].module or self._name(number), []).append(number)
        names = {number: self._name(number) for number in reached}
        trained = {n: tuple((term, n) in squares for term in shown.names) for n in reached}
        out: dict[str, dict[str, float]] = {}
        for module, numbers in outer.items():
            for part, members in split(names, module, numbers, trained).items():
                for term, name in shown.names.items():
                    norm = math.sqrt(sum(squares.get((term, n), 0.0) for n in members))
                    if any((term, n) in squares for n in members):
                        out.setdefault(name, {})[part] = norm
        return out

    def _name(self, number: int) -> str:
        known = self.capture.parameters[number]
        return known.name or invented(known)
