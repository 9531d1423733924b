"""An exception that ended the run."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.site import Site


@dataclass(frozen=True, slots=True)
class Escape:
    title: str
    """`TypeError: the first line of its text`."""
    site: Site | None = None
    """The user's expression that was being evaluated."""
    absent_gradient: str = ""
    """A `.grad` in that expression, as written, where the exception is about None."""
