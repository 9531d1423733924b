"""Whether a run may be called healthy: the one place that decides.

`findings` when something loud was found; else `incomplete` when there is a gap in what was looked at; else `healthy`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from whygrad import dialect, wording
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.children import BUSY, Children
from whygrad.trace.consumption import trained
from whygrad.trace.escape import Escape
from whygrad.trace.gap import Gap
from whygrad.trace.membership import orphans
from whygrad.trace.unmoved import moving, unmoved
from whygrad.trace.workers import originals

HEALTHY, FINDINGS, INCOMPLETE = "healthy", "findings", "incomplete"
IN_ONE = "train in one process (no workers, no launcher) to have it explained"
LONGEST_MESSAGE = 120
"""Characters of an exception's words inside a sentence of ours."""
OVER = 0.9
"""What was seen up to this part of the run, and not afterwards, has ended."""
NOTHING_WATCHED = Gap("nothing was watched", "put the training inside whygrad.watch(), or start it by `whygrad run`")


def word(findings: Iterable[Finding], gaps: Iterable[Gap]) -> str:
    if any(finding.loud for finding in findings):
        return FINDINGS
    return INCOMPLETE if any(True for _ in gaps) else HEALTHY


def gaps(trace: Trace, findings: list[Finding]) -> list[Gap]:
    """All that stands between a silent run and the word healthy, the most telling first."""
    found = [*trace.gaps, *_children(trace), *_swallowed(trace), *_never_traced(trace)]
    if any(finding.loud for finding in findings):
        return found  # They say why nothing, or not everything, was trained.
    if trace.escaped is not None:
        found.append(_ended_early(trace, trace.escaped))
    elif trace.exit_status:
        found.append(_left(trace))
    elif not found and not trained(trace):
        found += _nothing_trained(trace, findings)
    found += [*_put_there_by_hand(trace), *_not_finite(trace)]
    if not found:  # Else it would only say once more that something is missing.
        found += _unaccounted(trace, findings)
    return found


def _left(trace: Trace) -> Gap:
    """A script may catch what went wrong, say so, and leave."""
    return Gap(
        f"the script ended with exit status {trace.exit_status}, after {_updates(trace)}",
        "what it printed says why it did not go on; 0 means that all went well",
    )


def _updates(trace: Trace) -> str:
    return wording.plural(trace.updates, "update") if trace.updates else "no update"


def _ended_early(trace: Trace, escaped: Escape) -> Gap:
    ended = f"the script ended with {escaped.title}, after {_updates(trace)}"
    if trace.children.busy and not trace.updates:
        return Gap(ended + _meanwhile(trace.children), IN_ONE)
    if escaped.absent_gradient and escaped.site is not None:
        return Gap(
            f"{ended}: {escaped.absent_gradient} is None at {wording.short(escaped.site)}",
            "no backward had left a gradient there: look for what cuts it off from the loss, or clears it before this "
            "line; with an optimizer that holds it, whygrad names the cut",
        )
    return Gap(ended, "whygrad cannot say that this has to do with gradients; mend it and run again")


def _nothing_trained(trace: Trace, findings: list[Finding]) -> Iterator[Gap]:
    written = dialect.DIFFERENTIATING[trace.framework]
    if not trace.backward_calls and not trace.updates:
        busy = trace.children.busy
        yield Gap(
            f"no {written}() and no optimizer step was seen" + (_meanwhile(trace.children) if busy else ""),
            IN_ONE if busy else "there is no training to explain yet",
        )
    elif not trace.updates:
        calls = wording.plural(trace.backward_calls, f"{written} call")
        yield Gap(
            f"{calls}, and neither an optimizer step nor a write into parameters was seen: as far as that shows, "
            "nothing was trained",
            "let the run go on until an optimizer steps; updates that make new parameters (p = p - rate * grad) are "
            "not followed",
        )
    else:
        held = {n for optimizer in trace.optimizers for n in optimizer.parameters}
        silenced = [finding.code for finding in findings if finding.suppressed]
        yield Gap(
            f"nothing was trained: {wording.plural(trace.updates, 'optimizer step')}, "
            f"and none of {wording.plural(len(held), 'parameter')} was seen to get a gradient",
            f"what was found about it is suppressed ({wording.listed(silenced)})"
            if silenced
            else "see which parameters the optimizer was given, and which of them require a gradient",
        )


def _put_there_by_hand(trace: Trace) -> Iterator[Gap]:
    """Steps that nobody differentiated for: other processes did, or the gradients are estimates."""
    if trace.updates and not trace.backward_calls and not trace.compiled and trace.framework == "torch":
        yield Gap(
            "no loss was differentiated in this process; the gradients of "
            f"{wording.plural(trace.updates, 'optimizer step')} were put there by hand",
            f"where other processes compute them, {IN_ONE}; how else they are made is not for whygrad to judge",
        )


def _children(trace: Trace) -> Iterator[Gap]:
    count = trace.children.trained
    if count:
        many = "a child process" if count == 1 else f"{count} child processes"
        yield Gap(f"training happens in {many}, and only this process is watched", IN_ONE)


def _meanwhile(children: Children) -> str:
    did = f"took {children.seconds:.1f} s of processor time"
    if children.running:
        did = "are still running"
    elif children.seconds < BUSY:
        did = "came from a fork server"
    return f" in this process; its child processes {did}, and are not watched"


def _swallowed(trace: Trace) -> Iterator[Gap]:
    """Losses that could not be differentiated, and nobody said so."""
    for one in trace.often_swallowed:
        calls = wording.plural(trace.backward_calls, f"{dialect.DIFFERENTIATING[trace.framework]} call")
        at = f" at {wording.short(one.site)}" if one.site is not None else ""
        over = one.last < OVER * trace.updates
        since = f", from update {one.first + 1} on" if one.first and not over else ""
        until = f", between update {one.first} and update {one.last + 1}" if over else ""
        said = textwrap.shorten(one.message, LONGEST_MESSAGE, placeholder=" …")
        yield Gap(
            f"{one.times} of {calls} raised {one.type}{at} ({said}), and the script went on{since}{until}",
            "let the exception out, so that it is seen when it comes",
        )


def _never_traced(trace: Trace) -> Iterator[Gap]:
    """Losses and optimizers that nobody looked at while they worked."""
    do = "let the run go on for longer, or trace every update: --trace always"
    for site in trace.unseen:
        yield Gap(f"the loss differentiated at {wording.short(site)} was never traced", do)
    traced = {step.optimizer for step in trace.steps}
    for optimizer in trace.optimizers:
        if optimizer.steps and optimizer.id not in traced and not trace.unseen:
            count = optimizer.steps
            which = "the only step" if count == 1 else f"none of the {count} steps"
            yield Gap(f"{which} of the optimizer `{optimizer.name}` was {'not ' if count == 1 else ''}traced", do)


def _not_finite(trace: Trace) -> Iterator[Gap]:
    broken = {p.id for p in trace.parameters if p.finite is False}
    if broken:
        are = wording.verb(trace, broken, "is", "are")
        traced = trace.traced_updates >= trace.updates
        yield Gap(
            f"{wording.whom(trace, broken)} {are} not finite: NaN or infinite weights at the last look",
            "no operation of a loss was seen to make them: look at what the weights were set or loaded from"
            if traced
            else "trace every update to see where it begins: --trace always",
        )


def _unaccounted(trace: Trace, findings: list[Finding]) -> Iterator[Gap]:
    """Parameters that should be trained, are not, and that no rule has said a word about."""
    explained = {name for finding in findings for name in finding.parameters}
    silent = {n for n in _expected(trace) - moving(trace) if trace.parameter(n).name not in explained}
    silent -= originals(trace).keys()
    late = {n for n in silent if trace.parameter(n).unwatched and not trace.parameter(n).consumed}
    if late:
        joined = wording.verb(trace, late, "joined its", "joined their")
        yield Gap(
            f"whether {wording.whom(trace, late)} {wording.verb(trace, late, 'is', 'are')} trained is not known: "
            f"{wording.verb(trace, late, 'it', 'they')} {joined} optimizer between two looks, and had no gradient "
            "at those that came later",
            "look at every update: --trace always",
        )
    silent -= late
    left, back = silent - unmoved(trace), silent & unmoved(trace)
    if back:
        yield _put_back(trace, back)
    if left:
        gets = wording.verb(trace, left, "is", "are")
        yield Gap(
            f"{wording.whom(trace, left)} {gets} not trained, and no rule explains why",
            "look at its row in the report; if it is meant to stand still, freeze it: requires_grad_(False)",
        )


def _put_back(trace: Trace, numbers: set[int]) -> Gap:
    last = min(trace.parameter(n).still for n in numbers)
    held = wording.verb(trace, numbers, "its first values", "their first values")
    return Gap(
        f"{wording.whom(trace, numbers)} held {held} at the last look, {wording.plural(last, 'update')} on, "
        "although steps found a gradient",
        "look at the learning rate, and for what puts the weights back; what is meant to stand still is frozen by "
        "requires_grad_(False)",
    )


def _expected(trace: Trace) -> set[int]:
    """Held by an optimizer that steps, or reached by gradient again and again; frozen ones are meant to stand still."""
    held = {n for optimizer in trace.optimizers if optimizer.steps for n in optimizer.parameters}
    return {n for n in held | orphans(trace).keys() if trace.parameter(n).requires_grad}
