"""An error that PyTorch raised, with what the trace knows about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from whygrad.trace.graph import Region
from whygrad.trace.site import Site


@dataclass(slots=True)
class Raised:
    """Facts only: the rules turn them into an explanation."""

    code: str
    message: str
    type: str
    site: Site | None
    """Where it was raised: the operation or the backward call."""
    culprit: Site | None = None
    """The forward line that caused it, when the trace shows one."""
    labels: list[tuple[Site, str]] = field(default_factory=list)
    subject: str = ""
    """The tensor concerned, in the user's words."""
    detail: dict[str, str] = field(default_factory=dict)
    region: Region | None = None
    """Gradient recording was off when it was raised, switched off by this."""
    parameters: frozenset[int] = frozenset()
    """Those that were to get a gradient, where the error concerns these alone."""
    backward: int | None = None
    """The backward that failed, if it was one."""


@dataclass(slots=True)
class Swallowed:
    """Backward calls at one place that raised, each time caught by the script."""

    site: Site | None
    type: str
    message: str
    times: int = 0
    lost: int = 0
    """Of these, the ones with no optimizer step since the one before: what was to be trained was not."""
    first: int = 0
    """Updates before the first one."""
    last: int = 0
    explained: Raised | None = None
