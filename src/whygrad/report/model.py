"""The report of one run: all that is shown, stored or compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whygrad.finding import Finding
from whygrad.report.chains import Chain
from whygrad.report.listing import Listing
from whygrad.report.rounds import Round
from whygrad.telemetry.summary import Summary
from whygrad.trace import Site
from whygrad.trace.gap import Gap
from whygrad.verdict import HEALTHY, NOTHING_WATCHED, word

if TYPE_CHECKING:
    from whygrad.report.flow import FlowPlot

VERSION = 1
ZERO = "connected, and the gradient is exactly zero"
"""Why a term does not train a module that the graph leads to."""


@dataclass(slots=True)
class ParameterRow:
    name: str
    shape: list[int]
    grad: str
    reached_by: list[str]
    consumed_by: list[str]
    changed: bool
    module: str = ""
    held_by: list[str] = field(default_factory=list)
    """Optimizers that hold it, whether they found a gradient or not."""
    trained: bool = False
    """Steps or the script itself move it."""


@dataclass(slots=True)
class LossRow:
    """A loss, which modules it trains, and why the others are not among them."""

    name: str
    site: Site | None
    text: str
    trains: dict[str, str]
    """By module: how many of its parameters get gradient, and whether that is thrown away before a step."""
    not_reached: dict[str, str]
    consumed_by: list[str]
    terms: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MatrixCell:
    """What one term of a loss does to one module."""

    reached: int
    total: int
    norm: float | None
    share: float | None
    """Part of the module's gradient that this term makes, by norm."""
    consumed_by: list[str]
    discarded_by: list[str]


@dataclass(slots=True)
class MatrixRow:
    """A term of a loss against all modules it reaches."""

    loss: str
    term: str
    """As written; empty when the loss is not a sum."""
    site: Site | None
    cells: dict[str, MatrixCell] = field(default_factory=dict)
    cosines: dict[str, dict[str, float]] = field(default_factory=dict)
    """By module and other term: 1 pulls the same way, -1 against it."""
    not_reached: dict[str, str] = field(default_factory=dict)
    """Modules that the term is computed from and gives no gradient, and why."""


class UnhealthyError(AssertionError):
    """Raised by `assert_healthy`; its text is the rendered report."""


@dataclass
class Report:
    """Truthy when the run is healthy."""

    findings: list[Finding] = field(default_factory=list)
    parameters: list[ParameterRow] = field(default_factory=list)
    losses: list[LossRow] = field(default_factory=list)
    matrix: list[MatrixRow] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    updates: int = 0
    backward_calls: int = 0
    script: str = ""
    script_exit_code: int = 0
    whygrad: str = ""
    framework: str = ""
    limits: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=lambda: [NOTHING_WATCHED])
    """What was not looked at: with any of them the run cannot be called healthy."""
    source: dict[str, dict[int, str]] = field(default_factory=dict)
    """The lines that the findings show, so that a stored report can be rendered anywhere."""

    telemetry: Summary | None = None
    """What sampled updates say about gradients; nothing when none was sampled."""
    arguments: list[str] = field(default_factory=list)
    python: str = ""
    seconds: float = 0.0
    """From the start of the watching to its end."""
    traced_updates: int = 0
    chains: list[Chain] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    listings: dict[str, Listing] = field(default_factory=dict)
    """Files that took part, with what happened on their lines."""

    def __bool__(self) -> bool:
        return self.verdict == HEALTHY

    @property
    def verdict(self) -> str:
        """`healthy`, `findings` or `incomplete`."""
        return word(self.findings, self.gaps)

    @property
    def loud(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.loud]

    def worst(self) -> str | None:
        severities = {finding.severity for finding in self.loud}
        return "error" if "error" in severities else "warning" if severities else None

    def assert_healthy(self) -> None:
        """Raise with the whole explanation unless all is well and everything was looked at."""
        if not self:
            from whygrad.report.text import plain

            raise UnhealthyError("\n" + plain(self))

    def plot(self) -> FlowPlot:
        """Gradient flow per layer; a notebook shows it, `.svg` is its text."""
        from whygrad.report.flow import FlowPlot

        return FlowPlot(self.telemetry, f"Gradient flow of {self.script}" if self.script else "")

    def _repr_html_(self) -> str:
        """Verdict, causes and matrix, where a notebook shows it."""
        from whygrad.report.html.page import excerpt

        return excerpt(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text of the terminal, where IPython shows it."""
        from whygrad.report.text import plain

        printer.text("Report(...)" if cycle else plain(self))

    def to_dict(self) -> dict[str, Any]:
        from whygrad.report.json import to_dict

        return to_dict(self)
