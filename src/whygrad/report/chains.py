"""How a loss term and a parameter hang together: the operations between them, as the report keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from whygrad.fields import Decode, Fields, items, one_of, text, whole
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


shape = items(whole(-1), most=64)
"""As many dimensions as torch allows; -1 where TensorFlow does not know one."""


def from_json(value: object, site: Decode[Site | None], rows: int) -> list[Chain]:
    """Chains that belong to one of so many rows."""
    read = Fields(value)
    stops = read("stops", items(lambda stop: _stop(stop, site)))
    return read("chains", items(lambda chain: _chain(chain, stops, rows)))


def _stop(value: object, site: Decode[Site | None]) -> Stop:
    read = Fields(value)
    return Stop(
        read("name", text),
        read("text", text),
        read("span", site),
        tuple(read("shape", shape)),
        read("role", one_of(*ROLES)),
        read("why", text),
        read("code", text),
    )


def _chain(value: object, stops: list[Stop], rows: int) -> Chain:
    read = Fields(value)
    found = [stops[number] for number in read("stops", items(whole(0, len(stops) - 1)))]
    return Chain(
        read("row", whole(0, rows - 1)),
        read("module", text),
        read("parameter", text),
        found,
        read("gets_to", whole(0, len(found))),
        read("code", text),
    )
