"""Puts the trace together when the watching ends."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from whygrad.capture.tensorflow import private
from whygrad.capture.tensorflow.places import function
from whygrad.capture.tensorflow.stepping import Held, iterations
from whygrad.capture.tensorflow.variables import Known
from whygrad.source import expressions
from whygrad.trace import Backward, Optimizer, Parameter, Trace
from whygrad.trace.completed import completed

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture

TWICE = 2


def assemble(capture: Capture, escaped: BaseException | None) -> Trace:
    """Everything seen, as plain data."""
    stepping, gradients = capture.stepping, capture.gradients
    for held in stepping.optimizers:
        _count(held)
    capture.extract()
    trace = Trace(
        capture.extraction.graph,
        parameters_of(capture),
        [_optimizer(capture, held) for held in stepping.optimizers],
        list(gradients.backwards),
        list(stepping.steps),
        clips=capture.clipping.clips,
        copies=capture.writing.copies,
        raised=capture.errors.escaped(escaped),
        updates=stepping.updates,
        traced_updates=len(stepping.steps),
        backward_calls=gradients.calls,
        limits=_limits(capture),
        framework="tensorflow",
    )
    trace.cut_short = escaped is not None
    trace.gaps = capture.guard.gaps()
    trace.ran = {function(place) for place in capture.recorder.places}
    _reach(capture, trace)
    _unasked(capture, trace)
    _zeros(capture, trace)
    _repeat(capture, trace)
    for optimizer, held in zip(trace.optimizers, stepping.optimizers, strict=True):
        # What a function does was read once and holds for each of its runs.
        optimizer.looked = held.steps if held.symbolic else sum(s.optimizer == optimizer.id for s in trace.steps)
    trace.count_held_steps()
    if capture.guard.broken is not None:
        completed(trace, trace.steps[-1].order if trace.steps else 0)
    return trace


def parameters_of(capture: Capture) -> list[Parameter]:
    return [_parameter(capture, known) for known in capture.variables.known_list]


def _count(held: Held) -> None:
    """A step inside a function was seen once, when it was traced; the optimizer counts how often it ran."""
    optimizer = held.ref()
    if held.symbolic and optimizer is not None:
        counted = iterations(optimizer)
        held.steps = max(held.steps, (counted if counted is not None else TWICE) - held.began)


def _repeat(capture: Capture, trace: Trace) -> None:
    """What a traced function does it does every time: two rounds stand for all of them."""
    graphs = capture.gradients.symbolic
    ran = {held.number for held in capture.stepping.optimizers if held.symbolic and held.steps >= TWICE}
    order = max((s.order for s in trace.steps), default=0) + 1
    again: dict[int, int] = {}
    used = {i for s in trace.steps if s.optimizer in ran for ids in s.consumed.values() for i in ids}
    for backward in [b for b in trace.backwards if b.id in graphs and (b.id in used or ran)]:
        again[backward.id] = len(trace.backwards)
        trace.backwards.append(_later(backward, again[backward.id], order + backward.order))
    for step in [s for s in trace.steps if s.optimizer in ran]:
        consumed = {n: tuple(again.get(i, i) for i in ids) for n, ids in step.consumed.items()}
        trace.steps.append(dataclasses.replace(step, consumed=consumed, order=order + step.order))


def _unasked(capture: Capture, trace: Trace) -> None:
    """Variables whose gradient was None and that the script then left out: the step was meant for them, too."""
    for step in trace.steps:
        optimizer = trace.optimizers[step.optimizer]
        for number in {i for ids in step.consumed.values() for i in ids}:
            backward = capture.gradients.backwards[number]
            asked = set(capture.gradients.sources.get(number, ())) - backward.deposits
            optimizer.parameters += tuple(n for n in sorted(asked) if not _held(trace, n))


def _held(trace: Trace, number: int) -> bool:
    return any(number in optimizer.parameters for optimizer in trace.optimizers)


def _zeros(capture: Capture, trace: Trace) -> None:
    """A loop's gradient is zero, not None, where nothing comes back from it; and nothing moves."""
    reached = {n for b in trace.rooted if b.root is not None for n in trace.graph.reach(b.root)}
    asked = {n for i in capture.gradients.symbolic for n in capture.gradients.sources.get(i, ())}
    for parameter in trace.parameters:
        if parameter.consumed and parameter.id in asked - reached and parameter.moved is False:
            parameter.grad = "zero"


def _later(backward: Backward, number: int, order: int) -> Backward:
    return dataclasses.replace(backward, id=number, order=order)


def _reach(capture: Capture, trace: Trace) -> None:
    """Gradient also exists for the variables that the tape followed and nobody asked about."""
    for backward in trace.rooted:
        assert backward.root is not None
        if any(trace.graph[n].name == "gradient" for n in trace.graph.carriers(backward.root)):
            continue  # A second derivative need not exist where the first one does.
        reached = {n for n in trace.graph.reach(backward.root) if trace.parameter(n).requires_grad}
        backward.deposits |= reached.difference(capture.gradients.sources.get(backward.id, ()))


def _optimizer(capture: Capture, held: Held) -> Optimizer:
    name = capture.naming.optimizers.get(id(held.ref()), "") if held.ref() is not None else ""
    site = held.created.site
    targets = expressions.targets(site) if site is not None and not name else []
    name = name or (targets[0].removeprefix("self.") if targets else held.kind)
    given = held.given.site if held.given is not None else site
    return Optimizer(held.number, name, given, held.created.sites, tuple(held.parameters), held.steps)


def _parameter(capture: Capture, known: Known) -> Parameter:
    moved = capture.variables.moved(known)
    steps = max((h.steps for h in capture.stepping.optimizers if known.number in h.parameters), default=0)
    name = known.name or known.label or f"tensor{list(known.shape)}"
    return Parameter(
        known.number,
        name,
        known.module or name.split("/")[0],
        known.shape,
        known.trainable,
        known.created.site,
        known.created.sites,
        frozen=known.frozen.site if known.frozen is not None else None,
        frozen_last=not known.trainable,
        used=known.used,
        consumed=max(known.consumed, steps) if known.consumed else 0,
        absent=not known.consumed,
        grad=known.grad if known.consumed else "none",
        changed=bool(moved),
        loaded=known.loaded and known.written,
        derived_from=known.derived_from,
        moved=moved,
        lost=not known.name,
    )


def _limits(capture: Capture) -> list[str]:
    out = [*private.missing(), *capture.sampling.limits]
    if capture.extraction.truncated or capture.recorder.functions.truncated:
        out.append("the history of long-lived values was cut off to bound memory")
    return out
