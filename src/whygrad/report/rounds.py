"""The update protocol in the order in which it happened: one picture per kind of round."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from whygrad.source import expressions
from whygrad.trace import Backward, Clear, Clip, Copy, Site, Step, Trace
from whygrad.trace.grouping import modules
from whygrad.wording import plural

MOST_ROUNDS = 4
MOST_EVENTS = 48
FAR_APART = 12
"""Times more steps of one optimizer than of another from which on they have no round in common."""
KINDS = ("backward", "clip", "step", "clear", "copy")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to gradients or weights; the same thing several times in a row is one."""

    kind: str
    """`backward`, `clip`, `step`, `clear` or `copy`."""
    text: str
    site: Site | None
    lanes: tuple[str, ...]
    """Optimizers whose parameters it touches; of a copy the networks that it writes into."""
    note: str = ""
    wrong: bool = False
    """It finds nothing, or throws away what nobody has used."""
    times: int = 1


@dataclass(slots=True)
class Round:
    """Rounds of the same order, from the first event to the last."""

    seen: int
    events: list[Event] = field(default_factory=list)
    left_out: int = 0


Happened = Backward | Clip | Clear | Copy | Step


def rounds(trace: Trace) -> list[Round]:
    """The kinds of rounds that were traced, the most frequent first; not what is only the beginning of another one,
    where tracing ended."""
    reading = _Reading(trace)
    found: Counter[tuple[object, ...]] = Counter()
    latest: dict[tuple[object, ...], list[Event]] = {}
    for happened in _whole(_cycles(trace)):
        events = _merged([reading.event(one) for one in happened])
        order = tuple((e.kind, e.site, e.lanes, e.times) for e in events)
        found[order] += 1
        latest[order] = events
    return [
        Round(count, latest[order][:MOST_EVENTS], max(0, len(latest[order]) - MOST_EVENTS))
        for order, count in found.most_common()
        if not any(_begins(order, other) and count <= found[other] for other in found)
    ][:MOST_ROUNDS]


def _begins(order: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(order) < len(other) and other[: len(order)] == order


def copies(trace: Trace) -> list[Copy]:
    """Those that the user makes: tracing that begins inside a step takes what the step writes for a copy."""
    stepping = {step.site for step in trace.steps}
    return [copy for copy in trace.copies if copy.site not in stepping]


def _cycles(trace: Trace) -> list[list[Happened]]:
    """Split where the first recurring event comes again after the optimizer that steps most rarely has stepped."""
    happened: list[Happened] = [*trace.backwards, *trace.clips, *trace.clears, *copies(trace), *trace.steps]
    happened.sort(key=lambda one: one.order)
    leader = _leader(trace)
    if leader is None:
        return []
    often = Counter(_key(one) for one in happened)
    enough = max(1, sum(s.optimizer == leader for s in trace.steps) // 2)
    anchor = next((_key(one) for one in happened if often[_key(one)] >= enough), None)
    out: list[list[Happened]] = [[]]
    stepped = True
    for one in happened:
        if _key(one) == anchor and stepped:
            out.append([])
            stepped = False
        out[-1].append(one)
        stepped = stepped or (isinstance(one, Step) and one.optimizer == leader)
    return [cycle for cycle in out[1:] if any(isinstance(e, Step) and e.optimizer == leader for e in cycle)]


def _whole(cycles: list[list[Happened]]) -> list[list[Happened]]:
    """Leave out what was pieced together of two rounds, where tracing paused between them."""
    steps = [sum(isinstance(one, Step) for one in cycle) for cycle in cycles]
    usual, often = Counter(steps).most_common(1)[0] if steps else (0, 0)
    return [cycle for cycle, count in zip(cycles, steps, strict=True) if count <= usual or often < 2]


def _leader(trace: Trace) -> int | None:
    steps = Counter(step.optimizer for step in trace.steps)
    if not steps:
        return None
    most = max(steps.values())
    return min((o for o in steps if steps[o] * FAR_APART >= most), key=lambda o: steps[o])


def _key(one: Happened) -> tuple[str, object]:
    return type(one).__name__, one.site


def _merged(events: list[Event]) -> list[Event]:
    out: list[Event] = []
    for event in events:
        before = out[-1] if out else None
        if before is not None and (before.kind, before.site) == (event.kind, event.site):
            lanes = tuple(dict.fromkeys((*before.lanes, *event.lanes)))
            note = before.note if before.note == event.note else ""
            out[-1] = replace(before, lanes=lanes, note=note, times=before.times + 1)
        else:
            out.append(event)
    # A copy per parameter is one copy.
    return [replace(e, times=1) if e.kind == "copy" else e for e in out]


class _Reading:
    """What an entry of the ledger is called."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = {o.id: o.name for o in trace.optimizers}
        self._owners = {n: module for module, numbers in modules(trace).items() for n in numbers}
        self._used: dict[int, set[int]] = {}
        for step in trace.steps:
            for number, ids in step.consumed.items():
                self._used.setdefault(number, set()).update(ids)

    def event(self, one: Happened) -> Event:
        if isinstance(one, Backward):
            return self._backward(one)
        if isinstance(one, Step):
            return self._step(one)
        if isinstance(one, Copy):
            lanes = tuple(dict.fromkeys(self._owners.get(n, "") for n in sorted(one.into)))
            return Event("copy", _text(one.site, "copy"), one.site, tuple(name for name in lanes if name))
        if isinstance(one, Clear):
            return self._clear(one)
        return Event("clip", _text(one.site, "clip"), one.site, self._holders(one.parameters), _limit(one))

    def _holders(self, numbers: Any) -> tuple[str, ...]:
        found = {holder.id for number in numbers for holder in self._trace.holders.get(number, ())}
        return tuple(o.name for o in self._trace.optimizers if o.steps and o.id in found)

    def _backward(self, one: Backward) -> Event:
        text = _text(one.site, f"{one.name}.backward()" if one.how == "backward" else "autograd.grad")
        if one.how != "backward":
            return Event("backward", text, one.site, ())
        reached = len(one.deposits)
        return Event(
            "backward",
            text,
            one.site,
            self._holders(one.deposits),
            f"reaches {plural(reached, 'parameter')}" if reached else "reaches no parameter",
            wrong=not reached,
        )

    def _step(self, one: Step) -> Event:
        held = len(self._trace.optimizers[one.optimizer].parameters)
        used = len(one.consumed.keys() | one.assigned)
        found = f"finds {used} of {plural(held, 'gradient')}" if not one.closure else "evaluates the loss itself"
        name = self._names[one.optimizer]
        return Event("step", f"{name}.step()", one.site, (name,), found, wrong=not used and not one.closure)

    def _clear(self, one: Clear) -> Event:
        lost = [n for n, ids in one.discarded.items() if set(ids) - self._used.get(n, set())]
        note = f"throws away gradient that no step has used, of {plural(len(lost), 'parameter')}" if lost else ""
        return Event("clear", _text(one.site, "zero_grad"), one.site, self._holders(one.parameters), note)


def _limit(one: Clip) -> str:
    return f"{one.how} at most {one.limit:.3g}" if one.how in ("norm", "value") else one.operation


def _text(site: Site | None, otherwise: str) -> str:
    return expressions.text(site) or otherwise
