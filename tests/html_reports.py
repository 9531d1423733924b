"""Reports for the tests of the page: one of a thousand parameters, and one in which every text attacks."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from whygrad.report.chains import Chain, Stop
from whygrad.report.json import load
from whygrad.report.model import MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.record import Gradient, ParameterSample, Record
from whygrad.telemetry.summary import Summary
from whygrad.trace import Site

ATTACK = "</script></style>\"'><img src=x onerror=window.hit=1><script>window.hit=1</script>{{7*7}}\u202e`${1}`"
KEPT = frozenset({"severity", "kind", "role", "grad", "version", "code", "line", "raw", "clipped"})
"""Fields whose values the reader of a report checks."""


def large(parameters: int = 1000, updates: int = 10_000, samples: int = 20) -> Report:
    """A deep network over a long run, as its telemetry would have been kept."""
    chance = random.Random(0)
    names = [f"net.blocks.{n // 2}.{'weight' if n % 2 == 0 else 'bias'}" for n in range(parameters)]
    summary = Summary(cost=1.0, seconds=100.0)
    histogram = Histogram.of(chance.gauss(0, 1e-3) for _ in range(200))
    for number in range(samples):
        made = [_sample(name, chance, histogram) for name in names]
        summary.add(Record(number * updates // samples, float(number), "optimizer", made, {"loss": chance.random()}))
    report = Report(updates=updates, telemetry=summary, script="train.py")
    report.parameters = [
        ParameterRow(name, [64, 64], "nonzero", ["loss"], ["optimizer"], True, "net", ["optimizer"]) for name in names
    ]
    report.matrix = [
        MatrixRow("loss", "", Site("train.py", 9), {"net": MatrixCell(1000, 1000, 2.0, 1.0, ["optimizer"], [])})
    ]
    stops = [Stop("net.blocks.0.weight", role="parameter"), Stop("linear", "f(x)", Site("train.py", 8), (64, 64))]
    report.chains = [Chain(0, "net", "net.blocks.0.weight", [*stops, Stop("mean", "g(x)", role="loss")])]
    return report


def _sample(name: str, chance: random.Random, histogram: Histogram) -> ParameterSample:
    norm = math.exp(chance.gauss(-3, 1))
    raw = Gradient(norm, norm / 3, chance.random() / 4, 0.0, 4096, histogram)
    clipped = Gradient(norm / 2, norm / 6, raw.zeros, 0.0, 4096, histogram)
    return ParameterSample(name, "net", 4096, raw, clipped, 1e-3 * chance.random(), 1e-3, None)


def attacking(report: Report, file: Path) -> Report:
    """The same report with every name, path, line and sentence replaced by one that tries to break out."""
    file.write_text(json.dumps(_attacked(report.to_dict(), "")), encoding="utf-8")
    return load(file)


def _attacked(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        same = key in ("bins", "marks", "source")
        return {
            (k if same or k.isidentifier() or k.isdigit() else k + ATTACK): _attacked(v, k) for k, v in value.items()
        }
    if isinstance(value, list):
        return [_attacked(v, key) for v in value]
    return value + ATTACK if isinstance(value, str) and key not in KEPT else value
