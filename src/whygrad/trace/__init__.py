"""What a run did, as plain data: no torch, nothing that cannot be built by hand in a test."""

from whygrad.trace.graph import BLOCKING, Graph, Input, Kind, Op, Region
from whygrad.trace.ledger import Alias, Backward, Clear, Clip, Copy, Kept, Optimizer, Parameter, Scaler, Step, Switch
from whygrad.trace.raised import Raised
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace

__all__ = [
    "Alias",
    "BLOCKING",
    "Backward",
    "Clear",
    "Clip",
    "Copy",
    "Graph",
    "Input",
    "Kept",
    "Kind",
    "Op",
    "Optimizer",
    "Parameter",
    "Raised",
    "Region",
    "Scaler",
    "Site",
    "Step",
    "Switch",
    "Trace",
]
