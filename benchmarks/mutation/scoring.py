"""What became of each mutant: harmless, stillborn, or a bug that whygrad detected, located or missed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mutation.draft import Mutant
from mutation.trial import Plain, Said, Watched, plain, watched

_GRADIENT_ERRORS = re.compile(
    "does not require grad|modified by an inplace operation|backward through the graph a second time"
    "|can be implicitly created only for scalar|leaf Variable that requires grad|[Ii]nference tensor"
    "|saved intermediate values of the graph"
)


@dataclass(frozen=True)
class Case:
    """A mutant of one agent, with a name to find it by."""

    agent: str
    name: str
    mutant: Mutant


@dataclass(frozen=True)
class Verdict:
    case: Case
    kind: str
    """`bug`, `equivalent` (the weights came out the same) or `stillborn` (it fails for an unrelated reason)."""
    plain: Plain
    watched: Watched

    @property
    def hits(self) -> list[Said]:
        return [said for said in self.watched.said if said.code in self.case.mutant.expected]

    @property
    def detected(self) -> bool:
        return self.kind == "bug" and bool(self.hits)

    @property
    def located(self) -> bool:
        lines = self.case.mutant.expected
        at_home = [said for said in self.hits if said.file == f"{self.case.agent}.py"]
        return self.kind == "bug" and any(said.line in lines[said.code] for said in at_home)

    @property
    def alarmed(self) -> bool:
        """An error, which claims that training is changed, about a script whose weights are unchanged."""
        return self.kind == "equivalent" and any(said.severity == "error" for said in self.watched.said)

    @property
    def disturbed(self) -> bool:
        """Whether the script ended with other weights because it was watched."""
        return not self.watched.failure and self.plain.weights != self.watched.weights


@dataclass(frozen=True)
class Score:
    """Counts over some verdicts."""

    mutants: int
    equivalent: int
    stillborn: int
    detected: int
    located: int
    alarms: int

    @property
    def bugs(self) -> int:
        return self.mutants - self.equivalent - self.stillborn


def judge(case: Case, healthy_weights: str, fresh: bool = False) -> Verdict:
    script = f"{case.agent}.py"
    alone = plain(script, case.mutant.source, fresh)
    kind = _kind(case.mutant, alone, healthy_weights)
    seen = Watched("") if kind == "stillborn" else watched(script, case.mutant.source)
    return Verdict(case, kind, alone, seen)


def _kind(mutant: Mutant, alone: Plain, healthy_weights: str) -> str:
    if alone.error:
        return "bug" if _GRADIENT_ERRORS.search(alone.error) else "stillborn"
    same = alone.weights == healthy_weights
    return "equivalent" if same and mutant.moves_weights else "bug"


def score(verdicts: Iterable[Verdict]) -> Score:
    every = list(verdicts)
    return Score(
        len(every),
        sum(v.kind == "equivalent" for v in every),
        sum(v.kind == "stillborn" for v in every),
        sum(v.detected for v in every),
        sum(v.located for v in every),
        sum(v.alarmed for v in every),
    )
