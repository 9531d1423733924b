"""What was seen of an operation's values while it was traced; everything else is shape and structure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Facts:
    """Of one evaluation. Nothing is recorded where no rule could ask."""

    special: str = ""
    """`nan` or `inf` when such a value came out."""
    singular: bool = False
    """Finite, but the derivative is not: the square root of zero."""
    killed: float | None = None
    """Share of the elements through which no gradient passes: clamped, rectified, saturated."""
    dead: int | None = None
    """Bits of the units (last dimension) that are zero for the whole batch."""
    units: int = 0
    dim: int | None = None
    """The dimension it works along, counted from the front."""
    implied: bool = False
    """The dimension was not given: torch chose it."""
    picks: str = ""
    """How an index picks where one per row was meant: `columns`, `rows`, `flat`, or `across` another dimension."""
    nothing: int | None = None
    """The operand that is zero in every element while the other one carries gradient."""
    empty: bool = False
    """It reduces no elements at all."""
    summed: bool = False
    """Of a loss function: it adds up its elements instead of averaging them."""
    mask: bool = False
    """Made of zeros and ones only, both or either."""
    undecided: float | None = None
    """Of a softmax: its mean entropy as a share of the largest possible one."""
    explained: float | None = None
    """Of an error: the part of the target's variance that the prediction explains."""
    missed: float | None = None
    """Of an error: the mean square of what is missed over the target's variance. Far above one, the mean is not even
    learned yet."""
    typical: float | None = None
    """Of an error: the mean magnitude of the prediction."""
    largest: float | None = None
    """Of data from outside: its largest magnitude."""
    average: float | None = None
    """Of data from outside: its mean."""
    deviation: float | None = None
    """How far the values lie from `average`, `weight` or `goal`."""
    addends: tuple[float, float] | None = None
    """Of a sum of two constants: their largest magnitudes."""
    averages: tuple[float, ...] = ()
    """Of the same: their means."""
    divergence: float | None = None
    """Of a ratio: the estimate of the KL divergence between the old and the new policy."""
    mean: float | None = None
    """Of a ratio: its mean. Of a Gaussian's entropy: the mean of its sum over the last dimension."""
    weight: float | None = None
    """Of a product with a constant that varies over the batch: the constant's mean."""
    gap: float | None = None
    """Of an error: the mean distance between prediction and target."""
    goal: float | None = None
    """Of an error: the target's mean. Of a difference of constants: that of what the other one is taken off from."""
