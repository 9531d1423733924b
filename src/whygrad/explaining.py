"""The finding that explains one of PyTorch's own errors by the forward line that caused it."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.finding import Finding, Label
from whygrad.trace import Raised, Trace


def raised(trace: Trace, code: str) -> Iterator[Raised]:
    """The error that the run is about, if it is the one this rule explains."""
    if trace.raised is not None and trace.raised.code == code:
        yield trace.raised


def finding(code: str, name: str, error: Raised, *, message: str, here: str, why: str, fix: str) -> Finding:
    """PyTorch's words stay with the explanation; the primary span is the cause where it is known."""
    site = error.culprit or error.site
    labels = [Label(place, text) for place, text in error.labels if place != site]
    if error.site is not None and error.site != site and all(label.site != error.site for label in labels):
        labels.append(Label(error.site, "raised here"))
    return Finding(
        code,
        name,
        "error",
        message,
        site,
        here,
        labels,
        why,
        f"{error.type}: {error.message.split('. ')[0].rstrip('.')}.",
        fix,
        evidence={"raised": error.message, "type": error.type, **error.detail},
    )
