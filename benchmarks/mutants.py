"""The mutation score: bugs are put into healthy agents one at a time, and whygrad must name code and line.

    python benchmarks/mutants.py [--only OPERATOR] [--agent NAME] [--codes WG1,WG6] [-v]

A mutant is *equivalent* when the weights come out bit for bit as without it, and *stillborn* when it
fails for a reason that has nothing to do with gradients; neither counts. Of the others, whygrad has
*detected* those where an error or warning carries one of the expected codes, and *located* those
where it also starts on a fair line. An error about an equivalent mutant is a false alarm, and so is
anything said about the healthy agents.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutation import OPERATORS, Script, tables
from mutation.scoring import Case, Verdict, judge
from mutation.trial import Plain, Watched, plain, watched

HEALTHY = Path(__file__).parent / "healthy"


@dataclass(frozen=True)
class Agent:
    name: str
    source: str

    def cases(self, operators: Sequence[str]) -> list[Case]:
        script = Script(self.source)
        made = [(name, OPERATORS[name].mutants(script)) for name in operators]
        return [
            Case(self.name, f"{name}/{self.name}-{number}", mutant)
            for name, mutants in made
            for number, mutant in enumerate(mutants, 1)
        ]


def arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="OPERATOR", help="operators, separated by commas")
    parser.add_argument("--agent", metavar="NAME", help="agents, separated by commas")
    parser.add_argument("--codes", metavar="PREFIXES", help="mutants with an expected code such as WG1,WG6")
    parser.add_argument("--most", type=int, metavar="N", help="at most N mutants of each operator, for a quick look")
    parser.add_argument("--list", action="store_true", help="count the mutants and run none")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the mutants here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every verdict here")
    parser.add_argument("--markdown", action="store_true", help="print the table for the documentation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget what plain runs did before")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each miss and what was said instead")
    return parser.parse_args()


def chosen(known: Sequence[str], names: str | None) -> list[str]:
    wanted = names.split(",") if names else list(known)
    if unknown := set(wanted) - set(known):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [name for name in known if name in wanted]


def collected(options: argparse.Namespace) -> tuple[list[Agent], list[Case]]:
    names = chosen(sorted(path.stem for path in HEALTHY.glob("*.py")), options.agent)
    agents = [Agent(name, (HEALTHY / f"{name}.py").read_text(encoding="utf-8")) for name in names]
    operators = chosen(list(OPERATORS), options.only)
    cases = [case for agent in agents for case in agent.cases(operators)]
    prefixes = tuple(options.codes.split(",")) if options.codes else ("WG",)
    kept = [case for case in cases if any(code.startswith(prefixes) for code in case.mutant.expected)]
    return agents, [case for name in operators for case in spread(kept, name, options.most)]


def spread(cases: Sequence[Case], operator: str, most: int | None) -> list[Case]:
    """The mutants of one operator, or a few of them from different agents."""
    own = [case for case in cases if case.mutant.operator == operator]
    if most is None or len(own) <= most:
        return own
    return [own[number * len(own) // most] for number in range(most)]


def keep(folder: Path, cases: Sequence[Case]) -> None:
    """Write the mutants, and beside them what was expected of each."""
    index = {}
    for case in cases:
        file = folder / f"{case.name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(case.mutant.source, encoding="utf-8")
        index[case.name] = {code: sorted(lines) for code, lines in case.mutant.expected.items()}
    (folder / "expected.json").write_text(json.dumps(index, indent=1), encoding="utf-8")


def listing(cases: Sequence[Case]) -> str:
    counts = dict.fromkeys(OPERATORS, 0)
    for case in cases:
        counts[case.mutant.operator] += 1
    lines = [f"{name:24}{count:5}  {OPERATORS[name].bug}" for name, count in counts.items() if count]
    return "\n".join([*lines, f"{'total':24}{sum(counts.values()):5}  by {len(lines)} operators"])


def check_healthy(agent: Agent, fresh: bool) -> tuple[Plain, Watched]:
    script = f"{agent.name}.py"
    return plain(script, agent.source, fresh), watched(script, agent.source)


def complaints(agents: Sequence[Agent], checked: Sequence[tuple[Plain, Watched]]) -> list[str]:
    """What is wrong with the healthy agents, or with what whygrad says about them."""
    found = []
    for agent, (alone, seen) in zip(agents, checked, strict=True):
        if not alone.weights:
            found.append(f"{agent.name}: fails by itself: {alone.error}")
        elif seen.said or seen.failure:
            found.append(f"{agent.name}: false alarm: said {seen.failure or '; '.join(map(str, seen.said))}")
        elif seen.weights != alone.weights:
            found.append(f"{agent.name}: other weights when watched")
    return found


def progress(done: int, whole: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{whole}", end="" if done < whole else "\n", file=sys.stderr, flush=True)


def report(verdicts: Sequence[Verdict], options: argparse.Namespace) -> None:
    if options.json is not None:
        options.json.write_text(json.dumps(tables.as_json(verdicts), indent=1), encoding="utf-8")
    bugs = {name: operator.bug for name, operator in OPERATORS.items()}
    print(tables.markdown(verdicts, bugs) if options.markdown else tables.text(verdicts))


def main() -> int:
    options = arguments()
    agents, cases = collected(options)
    if options.keep is not None:
        keep(options.keep, cases)
    if options.list:
        print(listing(cases))
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        checked = list(pool.map(lambda agent: check_healthy(agent, options.fresh), agents))
        weights = {agent.name: alone.weights for agent, (alone, _) in zip(agents, checked, strict=True)}
        verdicts = []
        for verdict in pool.map(lambda case: judge(case, weights[case.agent], options.fresh), cases):
            verdicts.append(verdict)
            progress(len(verdicts), len(cases))
            if options.verbose and (complaint := tables.complaint(verdict)):
                print(complaint, flush=True)
    report(verdicts, options)
    wrong = complaints(agents, checked)
    wrong += [f"{v.case.name}: other weights when watched" for v in verdicts if v.disturbed and v.kind != "stillborn"]
    print(f"healthy agents: {len(agents)}; " + ("\n".join(["wrong:", *wrong]) if wrong else "all silent"))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
