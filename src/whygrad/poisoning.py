"""What the rules about NaN and Inf have in common: the finding about where it was made."""

from __future__ import annotations

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.nonfinite import Origin

MADE = {"nan": "gives NaN", "inf": "gives an infinite value", "gradient": "has no finite derivative here"}


def finding(trace: Trace, origin: Origin, code: str, name: str, why: str, fix: str) -> Finding:
    backward = origin.backward
    reach = trace.graph.reach(backward.root) if backward.root is not None else frozenset()
    who, become = wording.whom(trace, reach), wording.verb(trace, reach, "becomes", "become")
    labels = []
    if origin.cause is not None and origin.cause is not origin.op and origin.cause.site is not None:
        labels.append(Label(origin.cause.site, "infinite from here on"))
    if backward.site is not None and backward.site != origin.op.site:
        said = "NaN" if origin.special != "inf" else "not finite"
        loss = "its gradient is not finite" if origin.special == "gradient" else f"the loss is {said}"
        labels.append(Label(backward.site, loss))
    value = "the gradient" if origin.special == "gradient" else f"{backward.name} = {backward.value}"
    where = "constant of the loss" if origin.constant else "operation"
    return Finding(
        code,
        name,
        "error",
        f"{who} {become} NaN: {wording.code(origin.op.site)} {MADE[origin.special]}",
        origin.op.site,
        MADE[origin.special],
        labels,
        why,
        f"{value} at update {backward.update + 1}; this is the first {where} with such a value",
        fix,
        parameters=trace.names(reach),
        evidence={"operation": origin.op.name, "update": backward.update + 1, "value": origin.special},
    )
