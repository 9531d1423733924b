"""Environments so simple that failure is a verdict, and a harness that gives it.

    whygrad probe my_module:make_agent

or, in a test:

    from whygrad.probe import probe

    def test_my_agent():
        probe(make_agent).assert_passed()

Importing this package registers the environments with gymnasium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygrad.probe.registration import register

if TYPE_CHECKING:
    from whygrad.probe.harness import probe
    from whygrad.probe.protocol import Agent, ProtocolError
    from whygrad.probe.report import ProbeFailedError, Report, Verdict

__all__ = ["Agent", "ProbeFailedError", "ProtocolError", "Report", "Verdict", "probe"]

_HOMES = {
    "Agent": "whygrad.probe.protocol",
    "ProbeFailedError": "whygrad.probe.report",
    "ProtocolError": "whygrad.probe.protocol",
    "Report": "whygrad.probe.report",
    "Verdict": "whygrad.probe.report",
    "probe": "whygrad.probe.harness",
}


def __getattr__(name: str) -> Any:
    """Late: an environment's id must not cost the import of the harness."""
    if name not in _HOMES:
        raise AttributeError(f"module 'whygrad.probe' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


register()
