"""What came back from one probe, before anybody judges it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from whygrad.finding import Finding
from whygrad.probe.catalogue import Probe
from whygrad.report.snippet import Sources


@dataclass(frozen=True)
class Settings:
    """The same for every probe of a run."""

    steps: int = 1000
    seed: int = 0
    image: bool = False
    continuous: bool = False
    watch: bool = True
    named: frozenset[str] = frozenset()
    """Probes that were asked for by name, also of agents that do not say they are meant for them."""


@dataclass
class Answer:
    observed: dict[str, float] = field(default_factory=dict)
    gamma: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    """What whygrad found about gradients meanwhile."""
    roles: dict[str, str] = field(default_factory=dict)
    """Of the networks that were seen."""
    source: Sources = field(default_factory=dict)
    raised: str = ""
    """The exception that ended the training."""
    unasked: str = ""
    """Why this agent cannot be asked."""


class Subject(Protocol):
    """Who is probed: a factory of agents, or a script."""

    name: str

    def kinds(self, settings: Settings) -> str:
        """discrete, continuous or both: the actions it can handle."""

    def answer(self, probe: Probe, settings: Settings) -> Answer: ...
