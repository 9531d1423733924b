"""What the rules about NaN and Inf have in common: the finding about where it was made."""

from __future__ import annotations

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.nonfinite import Origin, applied, recovered, spared

MADE = {"nan": "gives NaN", "inf": "gives an infinite value", "gradient": "has no finite derivative here"}


def finding(trace: Trace, origin: Origin, code: str, name: str, why: str, fix: str) -> Finding:
    backward = origin.backward
    reach = trace.graph.reach(backward.root) if backward.root is not None else frozenset()
    labels = []
    if origin.cause is not None and origin.cause is not origin.op and origin.cause.site is not None:
        labels.append(Label(origin.cause.site, "infinite from here on"))
    if backward.site is not None and backward.site != origin.op.site:
        said = "NaN" if origin.special != "inf" else "not finite"
        loss = "its gradient is not finite" if origin.special == "gradient" else f"the loss is {said}"
        labels.append(Label(backward.site, loss))
    value = "the gradient" if origin.special == "gradient" else f"{backward.name} = {backward.value}"
    where = "constant of the loss" if origin.constant else "operation"
    severity, message, more = _harm(trace, origin, reach)
    return Finding(
        code,
        name,
        severity,
        message,
        origin.op.site,
        MADE[origin.special],
        labels,
        why,
        f"{value} at update {backward.update + 1}; this is the first {where} with such a value{more}",
        fix,
        parameters=trace.names(reach),
        evidence={"operation": origin.op.written, "update": backward.update + 1, "value": origin.special},
    )


def _harm(trace: Trace, origin: Origin, reach: frozenset[int]) -> tuple[str, str, str]:
    """How grave it is, what became of the weights, and what is to be added to what was seen.

    Weights that stayed finite under a loss that no step used were skipped by the script, as they should be.
    """
    who, made = wording.whom(trace, reach), f"{wording.code(origin.op.site)} {MADE[origin.special]}"
    if not spared(trace):
        become = wording.verb(trace, reach, "becomes", "become")
        return "error", f"{who} {become} NaN: {made}", healed(trace)
    what = "a gradient" if origin.special == "gradient" else "a loss"
    message = f"{what} of {who} was not finite: {made}; all weights are finite"
    return ("warning" if applied(trace, origin) else "note"), message, ""


def healed(trace: Trace) -> str:
    """That it is over, where it is."""
    update = recovered(trace)
    return f"; weights and losses are finite again from update {update + 1} on" if update is not None else ""
