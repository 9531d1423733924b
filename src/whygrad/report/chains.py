"""How a loss term and a parameter hang together: the operations between them, as the report keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from whygrad.trace import Site

ROLES = ("", "parameter", "loss", "cut", "meant", "leak", "folded")


@dataclass(frozen=True, slots=True)
class Stop:
    """One operation on the way."""

    name: str
    text: str = ""
    """The expression as written."""
    site: Site | None = None
    shape: tuple[int, ...] = ()
    role: str = ""
    """`parameter`, `loss`; `cut` by accident, `meant` to be cut, `leak`; `folded` for many that are left out."""
    why: str = ""
    code: str = ""
    """Of the finding that names this place."""


@dataclass(slots=True)
class Chain:
    """From a parameter to a loss term, the parameter first."""

    row: int
    """Of the matrix: the loss term."""
    module: str
    parameter: str
    stops: list[Stop] = field(default_factory=list)
    gets_to: int = 0
    """The first stop that gradient gets to, coming from the loss; 0 when it gets to the parameter."""
    code: str = ""
    """Of the leak that it was chosen to show."""


def to_json(chains: Iterable[Chain], span: Any) -> dict[str, Any]:
    """Stops that chains share are stored once."""
    table: dict[Stop, int] = {}
    rows = [
        {
            "row": chain.row,
            "module": chain.module,
            "parameter": chain.parameter,
            "stops": [table.setdefault(stop, len(table)) for stop in chain.stops],
            "gets_to": chain.gets_to,
            "code": chain.code,
        }
        for chain in chains
    ]
    stops = [
        {
            "name": stop.name,
            "text": stop.text,
            "span": span(stop.site),
            "shape": list(stop.shape),
            "role": stop.role,
            "why": stop.why,
            "code": stop.code,
        }
        for stop in table
    ]
    return {"stops": stops, "chains": rows}


def from_json(data: dict[str, Any], site: Any) -> list[Chain]:
    stops = [
        Stop(s["name"], s["text"], site(s["span"]), tuple(s["shape"]), s["role"], s["why"], s["code"])
        for s in data["stops"]
    ]
    if any(stop.role not in ROLES for stop in stops):
        raise ValueError("a path has an operation of unknown role")
    return [
        Chain(c["row"], c["module"], c["parameter"], [stops[i] for i in c["stops"]], c["gets_to"], c["code"])
        for c in data["chains"]
    ]
