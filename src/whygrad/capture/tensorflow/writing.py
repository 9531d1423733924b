"""Values written into variables: target updates, loaded weights, updates by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygrad.capture.clock import remember
from whygrad.capture.tensorflow.places import Place, Where
from whygrad.capture.tensorflow.shadow import Node
from whygrad.capture.tensorflow.variables import Known
from whygrad.trace import Copy

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture


class Writing:
    """Turns `assign` and its kin into copies of the trace."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.copies: list[Copy] = []
        self._place: Place | None = None

    def written(self, known: Known, value: Node | None, place: Where, onto: bool) -> None:
        """`onto`: the value is added to what was there."""
        sources, from_gradient = behind(value) if value is not None else (set(), False)
        blended = onto or known.number in sources
        others = frozenset(sources - {known.number})
        if not known.used and not known.consumed and not known.written:
            known.derived_from = tuple(sorted(others))
        known.written = True
        known.loaded |= not from_gradient
        if not place.user:
            return
        copy = self._copy(place)
        copy.into |= {known.number}
        copy.sources = (copy.sources | others) - copy.into
        copy.pairs[known.number] = others
        copy.blended |= blended and bool(others)
        copy.itself |= {known.number} if known.number in sources and not others else set()
        copy.serial = self.capture.shadow.serial

    def _copy(self, place: Where) -> Copy:
        """One for all that a call such as `set_weights` writes: zeros tell nobody where they came from."""
        last = self.copies[-1] if self.copies else None
        if last is not None and self._place == place.user[0] and last.order == self.capture.clock.now:
            return last
        self._place = place.user[0]
        copy = Copy(place.site, frozenset(), order=self.capture.clock.tick())
        remember(self.copies, copy)
        return copy


def behind(node: Node) -> tuple[set[int], bool]:
    """Parameters that a value was computed from, and whether gradients took part."""
    found: set[int] = set()
    seen, stack, gradient = {id(node)}, [node], False
    while stack:
        current = stack.pop()
        if current.gradient is not None:
            gradient = True
            continue
        if current.parameter is not None:
            found.add(current.parameter)
            continue
        for operand, _, _ in current.inputs:
            if id(operand) not in seen:
                seen.add(id(operand))
                stack.append(operand)
    return found, gradient
