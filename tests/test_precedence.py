"""A consequence is not said beside its cause."""

from __future__ import annotations

from whygrad.finding import Finding
from whygrad.precedence import CAUSES, causes_only
from whygrad.rule import rules


def _finding(code: str, *parameters: str, severity: str = "error", suppressed: bool = False) -> Finding:
    return Finding(code, "", severity, "", None, parameters=list(parameters), suppressed=suppressed)


def _codes(*findings: Finding) -> list[str]:
    return [finding.code for finding in causes_only(list(findings))]


def test_a_consequence_of_the_same_parameters_is_passed_over_in_any_order() -> None:
    cause, consequence = _finding("WG409", "pi.weight", "pi.bias"), _finding("WG801", "pi.bias", severity="warning")
    assert _codes(cause, consequence) == _codes(consequence, cause) == ["WG409"]


def test_a_warning_does_not_take_an_error_away() -> None:
    assert _codes(_finding("WG409", "a", severity="warning"), _finding("WG801", "a")) == ["WG409", "WG801"]


def test_other_parameters_are_another_matter() -> None:
    assert _codes(_finding("WG409", "a"), _finding("WG801", "b")) == ["WG409", "WG801"]


def test_what_is_silenced_or_a_note_explains_nothing() -> None:
    assert _codes(_finding("WG409", "a", suppressed=True), _finding("WG801", "a")) == ["WG409", "WG801"]
    assert _codes(_finding("WG409", "a", severity="note"), _finding("WG801", "a")) == ["WG409", "WG801"]


def test_the_table_names_rules_and_has_no_circle() -> None:
    assert {code for causes in CAUSES.values() for code in causes} | CAUSES.keys() <= rules().keys()
    for code in CAUSES:
        above, seen = list(CAUSES[code]), set[str]()
        while above:
            cause = above.pop()
            assert cause != code
            if cause not in seen:
                seen.add(cause)
                above += CAUSES.get(cause, ())
