"""Asks the probes in order, leaves out what an earlier failure makes meaningless, and gives verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from whygrad.finding import Finding
from whygrad.probe import causes
from whygrad.probe.answer import Answer, Settings, Subject
from whygrad.probe.catalogue import Probe, chosen
from whygrad.probe.protocol import Factory, ProtocolError
from whygrad.probe.report import Report, Verdict
from whygrad.probe.targets import find
from whygrad.probe.training import Trained
from whygrad.verdicts.judged import Judged, shown

Progress = Callable[[int, int, Probe], None]


def probe(
    make_agent: Factory | str,
    *,
    only: Iterable[str] = (),
    steps: int = 1000,
    seed: int = 0,
    image: bool = False,
    continuous: bool = False,
    watch: bool = True,
) -> Report:
    """Probe what `make_agent` makes; the report is truthy when every probe that was asked is passed.

    Also by name, as on the command line: "sb3:PPO".
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    subject = Trained(find(make_agent), make_agent) if isinstance(make_agent, str) else Trained(make_agent)
    return run(
        subject, [only] if isinstance(only, str) else list(only), Settings(steps, seed, image, continuous, watch)
    )


def run(subject: Subject, only: list[str], settings: Settings, progress: Progress | None = None) -> Report:
    """Any subject. Ctrl-C ends it early and leaves what is known so far."""
    probes = chosen(only)
    kinds = subject.kinds(settings)
    if settings.continuous and kinds == "discrete":
        raise ProtocolError(f"{subject.name} takes discrete actions only")
    continuous = settings.continuous or kinds == "continuous"
    settings = replace(settings, continuous=continuous, named=frozenset(text.strip().lower() for text in only))
    report = Report(
        subject.name,
        "continuous" if continuous else "discrete",
        "image" if settings.image else "vector",
        settings.steps,
        settings.seed,
    )
    for number, one in enumerate(probes, 1):
        if progress is not None:
            progress(number, len(probes), one)
        try:
            report.verdicts.append(_ask(subject, one, settings, report, kinds))
        except KeyboardInterrupt:
            report.interrupted = True
            break
    return report


def _ask(subject: Subject, one: Probe, settings: Settings, report: Report, kinds: str) -> Verdict:
    failed = [v.probe for v in report.of("fail") if v.probe.name in one.takes_for_granted]
    unknown = [v for v in report.of("skip") if v.probe.name in one.takes_for_granted and v.blocked]
    if failed:
        return Verdict(one, "skip", reason=f"{failed[0].code} failed", blocked=True)
    if unknown:
        return Verdict(one, "skip", reason=unknown[0].reason, blocked=True)
    if one.only_for == "continuous" and kinds == "discrete":
        return Verdict(one, "skip", reason="the agent takes discrete actions only")
    began = time.perf_counter()
    answer = subject.answer(one, settings)
    seconds = time.perf_counter() - began
    if answer.unasked:
        return Verdict(one, "skip", reason=answer.unasked, seconds=seconds)
    report.source |= answer.source
    judged = one.judge(answer.observed, answer.gamma) if not answer.raised else None
    verdict = Verdict(one, "fail", judged, gamma=answer.gamma, seconds=seconds)
    if judged is not None and judged.passed:
        verdict.status = "pass"
        return verdict
    verdict.finding = _judged(one, judged) if judged is not None else _raised(one, answer)
    told = {str(v.finding.evidence.get("cause")) for v in report.of("fail") if v.finding is not None}
    cause = causes.likely(answer.findings, answer.roles, one.asks, told)
    if cause is not None:
        causes.blame(verdict.finding, cause)
    return verdict


def _judged(one: Probe, judged: Judged) -> Finding:
    return Finding(
        one.code,
        one.title,
        "error",
        judged.message,
        None,
        why=judged.why,
        seen=f"{shown(judged.observed)}; expected {shown(judged.expected)}",
        fix=judged.fix,
        evidence={"probe": one.name, "expected": judged.expected, "observed": judged.observed},
    )


def _raised(one: Probe, answer: Answer) -> Finding:
    return Finding(
        one.code,
        one.title,
        "error",
        f"the training stopped in {one.name} with {answer.raised}",
        None,
        why="a probe is an ordinary environment; what stops the training here stops it elsewhere.",
        fix="repair the exception first; the probes that build on this one are not asked",
        evidence={"probe": one.name, "raised": answer.raised},
    )
