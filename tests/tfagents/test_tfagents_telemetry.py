"""Clipping in TF-Agents as what it is: read back from the event files of an unmodified agent."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

LIMIT = 0.01
SCRIPT = Path(__file__).parent / "scripts/dqn_custom_network_stopped/good.py"


@pytest.fixture(scope="module", params=["eager", "function"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EventAccumulator:
    """The scalars of a DQN whose `gradient_clipping` is 0.01."""
    folder = tmp_path_factory.mktemp("clipping")
    source = SCRIPT.read_text(encoding="utf-8").replace("gradient_clipping=0.1", f"gradient_clipping={LIMIT}")
    if request.param == "function":
        source = source.replace("agent.initialize()", "agent.initialize()\nagent.train = tf.function(agent.train)")
    assert f"gradient_clipping={LIMIT}" in source
    (folder / "train.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "whygrad", "run", "-q", "--budget", "100", "--tensorboard", "tb", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    return events


def values(events: EventAccumulator, tag: str) -> list[float]:
    return [event.value for event in events.Scalars(tag)]


def test_each_variable_keeps_the_limit_and_all_together_exceed_it(written: EventAccumulator) -> None:
    tags = written.Tags()["scalars"]
    (together,) = [tag for tag in tags if tag.startswith("clipped/") and tag.endswith("_optimizer/norm")]
    norms = values(written, together)
    assert len(norms) == 10
    assert all(LIMIT < norm <= math.sqrt(4) * LIMIT * (1 + 1e-5) for norm in norms)
    single = [tag for tag in tags if tag.startswith("clipped/") and tag.endswith(("kernel/norm", "bias/norm"))]
    parts = [values(written, tag) for tag in single]
    assert len(parts) == 4
    assert all(norm <= LIMIT * (1 + 1e-5) for part in parts for norm in part)
    assert norms == pytest.approx([math.hypot(*row) for row in zip(*parts, strict=True)], rel=1e-4)


def test_the_raw_gradient_was_larger_and_has_its_own_histograms(written: EventAccumulator) -> None:
    tags = written.Tags()
    (together,) = [tag for tag in tags["scalars"] if tag.startswith("raw/") and tag.endswith("_optimizer/norm")]
    assert all(norm > math.sqrt(4) * LIMIT for norm in values(written, together))
    named = {tag.partition("/")[2] for tag in tags["histograms"]}
    assert {tag.partition("/")[0] for tag in tags["histograms"]} == {"raw", "clipped"}
    assert len(named) == 4
