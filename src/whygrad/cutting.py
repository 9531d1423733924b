"""The finding that all cut rules share: who does not learn, the path there, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.trace import Site, Trace
from whygrad.trace.consumption import consumers
from whygrad.trace.cuts import Cut, cuts
from whygrad.trace.terms import terms
from whygrad.trace.workers import originals


def of_kind(trace: Trace, *kinds: str) -> Iterator[Cut]:
    return (cut for cut in cuts(trace) if cut.kind in kinds)


def finding(trace: Trace, code: str, name: str, cut: Cut, *, here: str, why: str, fix: str) -> Finding:
    """A finding for a cut; the rule adds what is particular to it."""
    return Finding(
        code,
        name,
        "warning" if cut.inferred or cut.partly else "error",
        consequence(trace, cut),
        cut.site,
        here,
        labels(trace, cut),
        why,
        seen(trace, cut),
        fix,
        parameters=trace.names(cut.parameters),
        evidence=evidence(trace, cut),
    )


def consequence(trace: Trace, cut: Cut) -> str:
    who = wording.whom(trace, cut.parameters)
    if cut.term is not None:
        return _dead_term(trace, cut, who)
    learning = wording.verb(trace, cut.parameters, "is", "are")
    return f"{who} {learning} not learning; no loss reaches {wording.of_them(trace, cut.parameters)}"


def _dead_term(trace: Trace, cut: Cut, who: str) -> str:
    """Other terms are spoken of only where there are some, and said to train whom they reach."""
    assert cut.term is not None
    reached = (cut.backward.deposits - cut.backward.zeros) & (cut.workers or cut.parameters)
    if cut.when is not None:
        return f"{part(trace, cut)} does not train {who}, {wording.dated(cut.when)}"
    if reached and _has_other_terms(trace, cut):
        return f"{part(trace, cut)} does not train {who}; only other terms do"
    if _has_other_terms(trace, cut):
        return f"{part(trace, cut)} does not train {who}, and no other term does"
    return f"{part(trace, cut)} does not train {who}: gradient reaches none of {wording.its(trace, cut.parameters)}"


def part(trace: Trace, cut: Cut) -> str:
    """What of the loss is dead: a term, where there are several."""
    if cut.term is None or not _has_other_terms(trace, cut):
        return cut.backward.name
    return f"the term {wording.code(cut.term.site)} of {cut.backward.name}"


def _has_other_terms(trace: Trace, cut: Cut) -> bool:
    return cut.backward.root is not None and len(terms(trace.graph, cut.backward.root)) > 1


def labels(trace: Trace, cut: Cut) -> list[Label]:
    """Where the value still had history, where it enters the loss as a constant, what backward reached."""
    out: list[Label] = []
    who = wording.whom(trace, cut.workers or cut.parameters)
    connected = _last_connected(trace, cut)
    if connected is not None and connected != cut.site:
        out.append(Label(connected, f"still connected to {who} here"))
    if cut.op.library is not None and cut.op.library != cut.site:
        out.append(Label(cut.op.library, "the library's line that did it"))
    entry = _entry(trace, cut)
    if entry is not None and entry not in (cut.site, connected):
        out.append(Label(entry, "enters the loss as a constant here"))
    if cut.origin is not None and cut.origin.site is not None and cut.origin.site != cut.site:
        out.append(Label(cut.origin.site, "the history was already lost here"))
    if cut.backward.site is not None:
        held = {n for o in consumers(trace, cut.backward) for n in o.parameters} | cut.parameters
        reached = len({originals(trace).get(n, n) for n in cut.backward.deposits} & held)
        out.append(Label(cut.backward.site, f"reaches {reached} of {wording.plural(len(held), 'parameter')}"))
    return [label for label in out if label.site.file]


def _last_connected(trace: Trace, cut: Cut) -> Site | None:
    for operand in cut.op.inputs:
        op = trace.graph.ops.get(operand.op)
        if op is not None and op.site is not None and op.parameter is None and op.requires_grad:
            return op.site
    return None


def _entry(trace: Trace, cut: Cut) -> Site | None:
    """The operation on the loss side of the cut that took the constant in."""
    if cut.path is None or cut.op.id not in cut.path.ops:
        return None
    index = cut.path.ops.index(cut.op.id)
    for number in reversed(cut.path.ops[:index]):
        op = trace.graph[number]
        if not op.blocks and op.site is not None and op.site.line != (cut.site.line if cut.site else 0):
            return op.site
    return None


def seen(trace: Trace, cut: Cut) -> str:
    """What was observed, in numbers."""
    numbers = sorted(cut.parameters)
    facts: list[str] = []
    if cut.term is not None:
        through = "through this term" if _has_other_terms(trace, cut) else f"of {cut.backward.name}"
        facts.append(f"gradient {through} reaches 0 of {len(numbers)} in {_traced(cut)}")
    elif trace.raised is not None and trace.raised.code == "WG601":
        facts.append(f"backward raised {trace.raised.type}: the loss has no graph at all")
    else:
        state = "zero" if any(trace.parameter(n).grad == "zero" for n in numbers) else "None"
        facts.append(f"{wording.looks(trace, numbers)}; every gradient is {state}")
        if not any(trace.parameter(n).changed for n in numbers):
            facts.append("weights unchanged since the start")
    if cut.workers:
        facts.append(f"the gradient is handed over from {wording.whom(trace, cut.workers)}")
    if cut.inferred:
        facts.append("the link between what left torch and the loss was read from the source, not observed")
    return "; ".join(facts)


def _traced(cut: Cut) -> str:
    if cut.when is None:
        return "the traced updates"
    return f"{wording.plural(cut.when.times, 'traced update')}, {wording.dated(cut.when)}"


def evidence(trace: Trace, cut: Cut) -> dict[str, object]:
    out: dict[str, object] = {
        "cause": cut.kind,
        "operation": cut.op.written,
        "loss": cut.backward.name,
        "updates": trace.updates,
        "inferred": cut.inferred,
    }
    if cut.op.region is not None:
        out["region"] = cut.op.region.how
    if cut.term is not None:
        out["term"] = expressions.text(cut.term.site)
    if cut.when is not None:
        out |= cut.when.evidence
    if trace.raised is not None and trace.raised.code == "WG601":
        out["raised"] = trace.raised.message
    return out
