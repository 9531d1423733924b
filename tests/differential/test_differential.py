"""Watching leaves a script as it is: plain and watched, a sample of the kinds prints, leaves and returns the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import cast

import comparison
import pytest
from comparison import Ended, Kind

KINDS = comparison.kinds()
SAMPLE = KINDS[::6]
"""All of them take ten minutes: `python tests/differential/comparison.py`."""
FEWEST = 60
REPORT = b'{"whygrad":"0.1","limits":[]}\n'
SAME = Ended("exit 0", b"out\n", b"err\n", {"script.py": "-rw-r--r-- 1 bytes"})
WATCHED = dataclasses.replace(SAME, stderr=b"err\n" + REPORT, report=REPORT)


class Runs:
    """The kinds that were asked for, each started a little before its turn, so that two run at a time."""

    def __init__(self, asked: list[Kind], scratch: Path, pool: ThreadPoolExecutor) -> None:
        self._asked = asked
        self._scratch = scratch
        self._pool = pool
        self._started: dict[Kind, Future[tuple[Ended, Ended]]] = {}

    def of(self, kind: Kind) -> tuple[Ended, Ended]:
        turn = self._asked.index(kind)
        for following in self._asked[turn : turn + comparison.AT_ONCE]:
            if following not in self._started:
                place = self._scratch / str(len(self._started))
                self._started[following] = self._pool.submit(comparison.both, following, place)
        return self._started[kind].result()


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    asked: list[Kind] = [
        cast(Kind, item.callspec.params["kind"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.function is test_watching_changes_nothing
    ]
    with ThreadPoolExecutor(comparison.AT_ONCE) as pool:
        yield Runs(asked, tmp_path_factory.mktemp("differential"), pool)


@pytest.mark.parametrize("kind", SAMPLE, ids=lambda kind: str(kind.name))
def test_watching_changes_nothing(kind: Kind, runs: Runs) -> None:
    told = comparison.differences(kind, *runs.of(kind))
    if told:
        pytest.fail(f"{kind.script.relative_to(comparison.SCRIPTS)}\n{told}", pytrace=False)


def test_there_are_many_kinds_and_each_says_what_it_does() -> None:
    scripts = {kind.script for kind in KINDS}
    assert len(scripts) >= FEWEST
    silent = [script for script in scripts if not script.read_text("utf-8").lstrip("\ufeff").startswith('"""')]
    assert silent == []


def test_the_report_is_no_difference() -> None:
    assert comparison.differences(KINDS[0], SAME, WATCHED) == ""
    in_the_middle = dataclasses.replace(WATCHED, stderr=b"er" + REPORT + b"r\n")
    assert comparison.differences(KINDS[0], SAME, in_the_middle) == ""


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("status", {"status": "killed by SIGINT"}),
        ("stdout", {"stdout": b"out\nmore\n"}),
        ("stderr", {"stderr": b"err\nwhygrad: internal error\n" + REPORT}),
        ("stderr", {"stderr": b"err\n" + REPORT + REPORT}),
        ("files", {"files": {"script.py": "-rw------- 1 bytes"}}),
        ("files", {"files": {}}),
        ("watching", {"report": b'{"limits":["rule WG101 failed (KeyError: 1)"]}', "stderr": b"err\n"}),
    ],
)
def test_every_part_is_compared(part: str, changes: dict[str, object]) -> None:
    told = comparison.differences(KINDS[0], SAME, dataclasses.replace(WATCHED, **changes))  # type: ignore[arg-type]
    assert told.startswith(f"{part} differs:")
    left_out = dataclasses.replace(KINDS[0], left_out=frozenset({part}))
    assert comparison.differences(left_out, SAME, dataclasses.replace(WATCHED, **changes)) == ""  # type: ignore[arg-type]
