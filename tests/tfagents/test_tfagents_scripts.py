"""Unmodified TF-Agents around networks of one's own: broken ones are located, their twins stay silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import script_cases

SCRIPTS = Path(__file__).parent / "scripts"
MODULES = ("tensorflow", "tensorflow.keras", "tf_agents")
RUNS = script_cases.pairs(SCRIPTS)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[script_cases.Runs]:
    with script_cases.started(
        SCRIPTS, tmp_path_factory.mktemp("scripts"), "tensorflow", "tensorflow.keras", "tf_agents"
    ) as found:
        yield found


@pytest.mark.parametrize("case", [case for case, script in RUNS if script == "bad.py"])
def test_broken_script_is_located(case: str, runs: script_cases.Runs) -> None:
    script_cases.assert_located(SCRIPTS / case, runs[case, "bad.py"].result())


@pytest.mark.parametrize("case", [case for case, script in RUNS if script == "good.py"])
def test_healthy_script_is_left_alone(case: str, runs: script_cases.Runs) -> None:
    script_cases.assert_silent(runs[case, "good.py"].result())
