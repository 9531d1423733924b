"""The update protocol: what deposited, cleared, scaled and consumed gradient, and what holds whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from whygrad.trace.site import Site


@dataclass(slots=True)
class Parameter:
    """A trainable tensor, by the name its owner would use."""

    id: int
    name: str
    module: str = ""
    """The outermost module (or variable) it belongs to, in the user's words."""
    shape: tuple[int, ...] = ()
    requires_grad: bool = True
    created: Site | None = None
    creation_stack: tuple[Site, ...] = ()
    """The user's frames when it was made, innermost first."""
    replaced: Site | None = None
    """The assignment that put it in the place of another parameter."""
    frozen: Site | None = None
    frozen_last: bool = False
    """At the end of the run it did not require a gradient."""
    companions: frozenset[int] = frozenset()
    """Parameters of the modules inside whose forward it is used."""
    used: bool = False
    """Some traced operation read it."""
    consumed: int = 0
    """Steps that found a gradient on it."""
    held_steps: int = 0
    """Steps of optimizers that hold it."""
    absent: bool = True
    """The latest steps of its optimizer found no gradient on it."""
    grad: str = "none"
    """Largest gradient seen: `none`, `zero` or `nonzero`."""
    changed: bool = False
    loaded: bool = False
    """Its values came from elsewhere: a state dict, a copy of another network, a file."""
    derived_from: tuple[int, ...] = ()
    """Parameters its first value was computed from."""


@dataclass(slots=True)
class Optimizer:
    """An optimizer, and the line that built it."""

    id: int
    name: str
    site: Site | None
    stack: tuple[Site, ...] = ()
    parameters: tuple[int, ...] = ()
    steps: int = 0


@dataclass(slots=True)
class Backward:
    """One call of backward (or `autograd.grad`), with what it deposited where."""

    id: int
    site: Site | None
    root: int | None
    """The loss in the shadow graph, where it was kept."""
    name: str = "loss"
    deposits: frozenset[int] = frozenset()
    zeros: frozenset[int] = frozenset()
    """Deposits that were exactly zero everywhere."""
    how: str = "backward"
    order: int = 0
    library: Site | None = None


@dataclass(slots=True)
class Clear:
    """Gradients were set to None or zero."""

    site: Site | None
    parameters: frozenset[int]
    order: int = 0


@dataclass(slots=True)
class Clip:
    """Gradients were scaled or clamped by a clipping call."""

    site: Site | None
    parameters: frozenset[int]
    limit: float
    order: int = 0


@dataclass(slots=True)
class Copy:
    """Values were written into parameters by hand: a target update or a loaded state."""

    site: Site | None
    into: frozenset[int]
    sources: frozenset[int] = frozenset()
    order: int = 0


@dataclass(slots=True)
class Step:
    """One optimizer step and the deposits it consumed."""

    optimizer: int
    site: Site | None
    consumed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Parameters that had a gradient, with the backwards that deposited since the last clearing."""
    order: int = 0
