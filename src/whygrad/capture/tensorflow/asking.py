"""One question about one loss and its tape, and gradients as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from whygrad.capture.saying import said
from whygrad.capture.tensorflow import private
from whygrad.capture.tensorflow.assembly import parameters_of
from whygrad.capture.tensorflow.naming import inside
from whygrad.capture.tensorflow.statistics import measured
from whygrad.telemetry.record import Gradient
from whygrad.trace import Backward, Trace
from whygrad.trace.cuts import cut_between

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture

Answer = tuple[tuple[str, ...], dict[str, str], bool, bool]
"""Reached variables, the others with a reason, whether the tape follows the loss, and whether that is all known."""


def named(target: Any) -> dict[str, Any]:
    """Variables by name, of a model, a list of them or a single one."""
    if hasattr(target, "trainable_variables") and not hasattr(target, "handle"):
        return {inside(target, variable): variable for variable in target.trainable_variables}
    several = [target] if hasattr(target, "handle") else list(target)
    out: dict[str, Any] = {}
    for variable in several:
        name = str(getattr(variable, "path", "") or variable.name).removesuffix(":0").replace("/", ".")
        out[name if name not in out else f"{name} ({len(out)})"] = variable
    return out


def ask(capture: Capture | None, tape: Any, loss: Any, variables: dict[str, Any]) -> Answer:
    """Which variables a loss reaches; with the line that cut a path where the making of the loss was watched."""
    root = capture.shadow.get(loss) if capture is not None else None
    if capture is None or root is None:
        return _unwatched(tape, loss, variables)
    numbers = {name: found.number for name, v in variables.items() if (found := capture.variables.register(v))}
    capture.recorder.paused += 1
    try:
        known = capture.tapes.of(tape)
        backward = Backward(0, None, capture.extraction.take(root, known.opened if known is not None else None))
        trace = Trace(capture.extraction.graph, parameters_of(capture))
        reach = trace.graph.reach(root.serial)
        lost = frozenset(number for number in numbers.values() if number not in reach)
        found_cuts = cut_between(trace, backward, lost) if lost else []
    finally:
        capture.recorder.paused -= 1
    reasons = {number: said(cut) for cut in found_cuts for number in cut.parameters}
    missing = {name: reasons.get(n, "the loss does not depend on it") for name, n in numbers.items() if n in lost}
    return tuple(name for name in numbers if name not in missing), missing, root.requires_grad, True


def _unwatched(tape: Any, loss: Any, variables: dict[str, Any]) -> Answer:
    """What the tape itself tells, without being used up: whom it watches, and whether it follows the loss."""
    watched = {id(variable.handle) for variable in tape.watched_variables()}
    followed = _followed(tape, loss)
    missing = {
        name: "the tape does not watch it"
        if id(variable.handle) not in watched
        else "the tape does not follow the loss (use whygrad.watch() around the forward to see the line)"
        for name, variable in variables.items()
        if not followed or id(variable.handle) not in watched
    }
    return tuple(name for name in variables if name not in missing), missing, followed, not followed


def _followed(tape: Any, loss: Any) -> bool:
    if private.pywrap is None:
        return bool(tape.watched_variables())
    with tape._ensure_recording():
        return private.followed(loss)


def rows(gradients: Iterable[Any], variables: Any) -> list[tuple[str, tuple[int, ...], Gradient | None]]:
    """Name, shape and numbers of each gradient; None where there is none."""
    out: list[tuple[str, tuple[int, ...], Gradient | None]] = []
    for (name, variable), gradient in zip(named(variables).items(), gradients, strict=True):
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        found = measured(values.numpy()) if values is not None else None
        out.append((name, tuple(variable.shape), found))
    return out
