"""Names and counts as a person would say them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace

from whygrad.finding import Finding
from whygrad.source import expressions
from whygrad.trace import Site, Trace
from whygrad.trace.spells import Spell
from whygrad.trace.terms import Term

MOST_NAMES = 3


def groups(trace: Trace, numbers: Iterable[int]) -> list[str]:
    """The fewest module names that cover exactly these parameters."""
    wanted = {trace.parameters[n].name: trace.parameters[n].module for n in numbers}
    everything = {p.name for p in trace.parameters}
    out: list[str] = []
    for name in sorted(wanted):
        if any(_inside(name, group) for group in out):
            continue
        out.append(_widest(name, wanted[name], wanted.keys(), everything))
    return list(dict.fromkeys(out))


def _widest(name: str, module: str, wanted: Collection[str], everything: set[str]) -> str:
    """The shortest prefix of a name, not above its module, under which every parameter is wanted."""
    parts = name.split(".")
    for length in range(max(1, len(module.split("."))), len(parts)):
        prefix = ".".join(parts[:length])
        if all(n in wanted for n in everything if _inside(n, prefix)):
            return prefix
    return name


def _inside(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith((f"{prefix}.", f"{prefix}["))


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and 4 more`."""
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def whom(trace: Trace, numbers: Iterable[int]) -> str:
    return listed(groups(trace, numbers))


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def dated(spell: Spell) -> str:
    """When it began and ended, where it was not there all the time; looks are named that did not show it."""
    said: list[str] = []
    always = spell.times == spell.looks
    if spell.before is not None:
        exact = always and spell.before == spell.first - 1
        said.append(f"from update {spell.first} on" if exact else _seen("first", spell.first, spell.before, "not yet"))
    if spell.after is not None:
        exact = always and spell.after == spell.last + 1
        said.append(f"until update {spell.last}" if exact else _seen("last", spell.last, spell.after, "no more"))
    return ", ".join(said)


def _seen(which: str, update: int, other: int, how: str) -> str:
    return f"{which} seen at update {update} (at update {other} {how})"


def also_dated(spell: Spell | None) -> str:
    """The same behind another statement."""
    said = dated(spell) if spell is not None else ""
    return f"; {said}" if said else ""


def in_part(spell: Spell | None) -> str:
    """The same at the end of a message: `, until update 20`."""
    said = dated(spell) if spell is not None else ""
    return f", {said}" if said else ""


def past(finding: Finding, when: Spell) -> Finding:
    """A state that a part of the run was in, as a note: it has healed, and is still to be said."""
    return replace(
        finding, severity="note", message=f"{dated(when)}: {finding.message}", evidence=finding.evidence | when.evidence
    )


def looks(trace: Trace, numbers: Iterable[int]) -> str:
    """Of how many updates the evidence about these parameters speaks: never of one that nobody looked at.

    Where the weights are as they were, no step found a gradient: an optimizer writes into whatever has one.
    """
    found = [trace.parameter(n) for n in numbers]
    steps = max((p.held_steps for p in found), default=0)
    looked = max((p.looked_steps for p in found), default=0)
    if looked >= steps or not any(p.changed for p in found):
        return f"{steps} of {plural(steps, 'update')}"
    return f"all {looked} updates that were looked at, of {steps}"


def of_them(trace: Trace, numbers: set[int] | frozenset[int]) -> str:
    """`any of its 6 parameters`, `its only parameter`."""
    whose = its(trace, numbers)
    return whose if len(numbers) == 1 else f"any of {whose}"


def its(trace: Trace, numbers: Collection[int]) -> str:
    """`its 6 parameters`, `it` where that is all there is."""
    single = len(groups(trace, numbers)) == 1
    return "it" if len(numbers) == 1 else f"{'its' if single else 'their'} {len(numbers)} parameters"


def verb(trace: Trace, numbers: Iterable[int], singular: str, several: str) -> str:
    return singular if len(groups(trace, numbers)) == 1 else several


def code(site: Site | None) -> str:
    """A value by its variable or expression, in backquotes, or a stand-in where the source is not at hand."""
    written = expressions.name(site)
    return f"`{written}`" if written else "this expression"


def term(found: Term) -> str:
    """A summand of a loss as the user calls it."""
    written = expressions.operand(*found.operand) if found.operand is not None else ""
    return written or expressions.name(found.site)


def short(site: Site) -> str:
    """`train.py:61`."""
    return f"{os.path.basename(site.file)}:{site.line}"


def where(site: Site | None) -> str:
    return f"line {site.line}" if site is not None else "an unknown line"
