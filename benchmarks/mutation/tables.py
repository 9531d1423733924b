"""The result as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mutation.scoring import Score, Verdict, score

_HEAD = ("operator", "mutants", "equivalent", "stillborn", "bugs", "detected", "located", "alarms")


def rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """One row per operator in the order of the run, and the total."""
    operators = dict.fromkeys(v.case.mutant.operator for v in verdicts)
    each = [_row(name, score(v for v in verdicts if v.case.mutant.operator == name)) for name in operators]
    return [*each, _row("total", score(verdicts))]


def _row(name: str, counts: Score) -> tuple[str, ...]:
    found = [_share(counts.detected, counts.bugs), _share(counts.located, counts.bugs)]
    numbers = [counts.mutants, counts.equivalent, counts.stillborn, counts.bugs]
    return (name, *map(str, numbers), *found, str(counts.alarms))


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f}%)" if whole else "-"


def text(verdicts: Sequence[Verdict]) -> str:
    table = [_HEAD, *rows(verdicts)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
    aligned = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in table]
    return "\n".join("  ".join(row).rstrip() for row in aligned)


def markdown(verdicts: Sequence[Verdict], bugs: dict[str, str]) -> str:
    """A table for the documentation, with what each operator does."""
    lines = ["| operator | the bug | bugs | detected | located |", "|---|---|---|---|---|"]
    for name, _, _, _, alive, detected, located, _ in rows(verdicts):
        shown = f"`{name}`" if name in bugs else f"**{name}**"
        lines.append(f"| {shown} | {bugs.get(name, '')} | {alive} | {detected} | {located} |")
    return "\n".join(lines)


def complaint(verdict: Verdict) -> str:
    """A line about a bug that was not located, a false alarm or a script that does not run; else nothing."""
    name, expected = verdict.case.name, verdict.case.mutant.expected
    said = verdict.watched.failure or "; ".join(map(str, verdict.watched.said)) or "nothing"
    wanted = ", ".join(f"{code} on {_lines(lines)}" for code, lines in sorted(expected.items()))
    if verdict.kind == "stillborn":
        return f"{name}: stillborn: {verdict.plain.error[:120]}"
    if verdict.alarmed:
        return f"{name}: false alarm: said {said}"
    if verdict.kind == "bug" and not verdict.located:
        verb = "misplaced" if verdict.detected else "missed"
        return f"{name}: {verb}: said {said}; wanted {wanted}"
    return ""


def _lines(lines: Iterable[int]) -> str:
    return "/".join(map(str, sorted(lines)))


def as_json(verdicts: Sequence[Verdict]) -> list[dict[str, object]]:
    return [
        {
            "mutant": verdict.case.name,
            "operator": verdict.case.mutant.operator,
            "agent": verdict.case.agent,
            "line": verdict.case.mutant.line,
            "kind": verdict.kind,
            "expected": {code: sorted(lines) for code, lines in verdict.case.mutant.expected.items()},
            "said": [{"code": s.code, "severity": s.severity, "line": s.line} for s in verdict.watched.said],
            "error": verdict.plain.error or verdict.watched.failure,
            "detected": verdict.detected,
            "located": verdict.located,
            "alarmed": verdict.alarmed,
            "disturbed": verdict.disturbed,
        }
        for verdict in verdicts
    ]
