"""How a loss term and a module stand to each other, in one word, with the finding that says so."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.finding import Finding
from whygrad.report.model import ZERO, MatrixCell, MatrixRow, Report
from whygrad.report.table import detail

WORDS = {
    "consumed": "trained: a step uses this gradient",
    "leaking": "leaking: this gradient should not arrive",
    "missing": "missing: gradient should arrive and does not",
    "discarded": "discarded: cleared before any step",
    "unused": "used by no step",
    "constant": "computed from it, a constant on purpose",
    "zero": ZERO,
    "nothing": "not computed from it",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """One field of the matrix."""

    state: str
    cell: MatrixCell | None = None
    reason: str = ""
    codes: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return detail(self.cell) if self.cell is not None else self.reason


def columns(report: Report) -> list[str]:
    """Modules, those that are trained first, and last those that an optimizer holds and no loss is made of."""
    out = dict.fromkeys(module for row in report.matrix for module in row.cells)
    out |= dict.fromkeys(module for row in report.matrix for module in row.not_reached)
    known = list(out)
    out |= dict.fromkeys(p.module for p in report.parameters if p.module and not owner(p.name, known))
    return list(out)


def concerned(report: Report) -> dict[str, list[Finding]]:
    """By module: the findings about its parameters."""
    out: dict[str, list[Finding]] = {module: [] for module in columns(report)}
    modules = list(out)
    for finding in report.loud:
        for module in {owner(name, modules) for name in finding.parameters} - {""}:
            out[module].append(finding)
    return out


def standings(report: Report) -> dict[tuple[int, str], Standing]:
    about = concerned(report)
    named: dict[tuple[int, str], set[str]] = {}
    for chain in report.chains:
        named.setdefault((chain.row, chain.module), set()).update(s.code for s in chain.stops if s.role)
    shown = set[str]().union(*named.values())
    return {
        (index, module): _standing(row, module, findings, named.get((index, module), set()), shown)
        for index, row in enumerate(report.matrix)
        for module, findings in about.items()
    }


def _standing(row: MatrixRow, module: str, findings: list[Finding], named: set[str], shown: set[str]) -> Standing:
    """`named` are codes on this field's own paths, `shown` those on any: a leak that no path shows is everywhere."""
    cell = row.cells.get(module)
    about = [f for f in findings if f.evidence.get("loss", row.loss) == row.loss]
    here = [f for f in about if f.code in named or (f.code not in shown and (cell is not None or f.code < "WG2"))]
    leaks, cuts = [f for f in here if f.code.startswith("WG2")], [f for f in here if f.code.startswith("WG1")]
    if leaks:
        return Standing("leaking", cell, leaks[0].here or leaks[0].message, _codes(leaks))
    if cell is not None:
        state = "consumed" if cell.consumed_by else "discarded" if cell.discarded_by else "unused"
        return Standing(state, cell, codes=_codes(cuts) if state == "unused" else ())
    if module not in row.not_reached:
        return Standing("nothing", None, WORDS["nothing"])
    if cuts:
        return Standing("missing", None, cuts[0].here or cuts[0].message, _codes(cuts))
    reason = row.not_reached[module]
    return Standing("zero" if reason == ZERO else "constant", None, reason)


def _codes(findings: list[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.code for f in findings))


def owner(parameter: str, modules: list[str]) -> str:
    """The innermost of these modules that a parameter belongs to."""
    found = [m for m in modules if parameter == m or parameter.startswith((f"{m}.", f"{m}["))]
    return max(found, key=len, default="")
