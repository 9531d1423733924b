"""Where telemetry goes, from the command line: files, a real TensorBoard server, the script's own writer."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import stat
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_running import LONGEST, Ended, crashed, environment, stored, whygrad, write
from whygrad.sinks.jsonlines import JsonLines
from whygrad.sinks.live import LIVE, Live
from whygrad.sinks.opening import Destinations
from whygrad.sinks.parquet import Parquet
from whygrad.sinks.sink import Outlets, SinkError
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.record import Gradient, ParameterSample, Record
from whygrad.telemetry.summary import Summary

CLIPPED = """\
import torch
torch.set_num_threads(1)
q_net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
for update in range(6):
    loss = (q_net(torch.randn(16, 4)) - 9.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(q_net.parameters(), 0.5)
    optimizer.step()
"""
PARAMETERS = ["q_net.0.weight", "q_net.0.bias", "q_net.2.weight", "q_net.2.bias"]
tensorboard = pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="needs tensorboard")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sinks")


@pytest.fixture(scope="module")
def run(folder: Path) -> Ended:
    write(folder, "train.py", CLIPPED + 'print("done")\n')
    return whygrad(folder, "run", "-q", "--budget", "100", "--tensorboard", "tb", "--log", "out.jsonl", "train.py")


@tensorboard
def test_a_run_with_sinks_is_a_run(run: Ended, folder: Path) -> None:
    assert run == Ended(0, "done\n", "")
    assert not (folder / LIVE).exists()


@tensorboard
def test_the_log_has_one_object_per_sampled_update(run: Ended, folder: Path) -> None:
    assert run.status == 0
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [record["update"] for record in records] == [2, 3, 4, 5, 6]
    for record in records:
        assert [p["name"] for p in record["parameters"]] == PARAMETERS
        assert record["was_clipped"] is True
        assert record["clipped_norm"] == pytest.approx(0.5, rel=1e-3)
        assert record["raw_norm"] > 0.5
        assert record["optimizer"] == "optimizer"
        assert record["losses"]["loss"] > 0
        counted = Histogram.from_json(record["parameters"][0]["raw"]["histogram"])
        assert counted.total == record["parameters"][0]["size"] == 32


@tensorboard
def test_the_report_keeps_the_summary(run: Ended, folder: Path) -> None:
    assert run.status == 0
    telemetry = stored(folder)["telemetry"]
    assert (telemetry["version"], telemetry["samples"], telemetry["clipped"]) == (1, 5, 5)
    assert [p["name"] for p in telemetry["parameters"]] == PARAMETERS


# -- a stock TensorBoard


@pytest.fixture(scope="module")
def server(run: Ended, folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", "tb", "--port", "0", "--host", "127.0.0.1"]
    command += ["--load_fast", "false", "--reload_interval", "1"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.wait(LONGEST)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        if found is not None:
            return found[0]
    raise AssertionError("TensorBoard did not start")


def asked(server: str, path: str) -> Any:
    """The answer, as soon as the server has read the files."""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        with urllib.request.urlopen(server + path, timeout=LONGEST) as answer:
            data = json.load(answer)
        if data:
            return data
        time.sleep(0.3)
    raise AssertionError(f"nothing at {path}")


@tensorboard
def test_a_tensorboard_server_shows_raw_and_clipped_side_by_side(server: str) -> None:
    [scalars] = asked(server, "data/plugin/scalars/tags").values()
    [histograms] = asked(server, "data/plugin/histograms/tags").values()
    for name in PARAMETERS:
        assert {f"raw/{name}", f"clipped/{name}"} <= histograms.keys()
        assert {f"raw/{name}/norm", f"clipped/{name}/norm", f"update_ratio/{name}"} <= scalars.keys()
    assert {"raw/optimizer/norm", "clipped/optimizer/norm", "clip_rate/optimizer", "loss/loss"} <= scalars.keys()
    assert {"term/loss/q_net", "activation/q_net.0/saturated"} <= scalars.keys()


@tensorboard
def test_a_tensorboard_server_shows_the_values(server: str, folder: Path) -> None:
    logged = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    query = urllib.parse.urlencode({"run": ".", "tag": "raw/optimizer/norm"})
    points = asked(server, f"data/plugin/scalars/scalars?{query}")
    assert [(step, pytest.approx(value, rel=1e-4)) for _, step, value in points] == [
        (record["update"], record["raw_norm"]) for record in logged
    ]
    query = urllib.parse.urlencode({"run": ".", "tag": "clipped/q_net.0.weight"})
    [_, step, buckets] = asked(server, f"data/plugin/histograms/histograms?{query}")[0]
    assert step == 2
    assert sum(count for _, _, count in buckets) == pytest.approx(32)


@tensorboard
def test_the_scripts_own_writer_and_its_step_are_used(tmp_path: Path) -> None:
    made = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('mine')\n"
    logged = "    writer.add_scalar('charts/loss', loss.item(), 1000 + update)\n"
    write(tmp_path, "train.py", made + CLIPPED + logged + "writer.close()\n")
    done = whygrad(tmp_path, "run", "-q", "--budget", "100", "--tensorboard", "tb", "train.py")
    assert done == Ended(0, "", "")
    assert not (tmp_path / "tb").exists()
    read = """
        import sys
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator("mine").Reload()
        print([e.step for e in events.Scalars("raw/optimizer/norm")], [e.step for e in events.Scalars("charts/loss")])
    """
    write(tmp_path, "read.py", read)
    shown = subprocess.run([sys.executable, "read.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout == f"{[1000, 1001, 1002, 1003, 1004]} {[1000, 1001, 1002, 1003, 1004, 1005]}\n"


# -- what cannot be written


@pytest.mark.parametrize("package", ["tensorboard", "wandb", "pyarrow"])
def test_a_missing_package_is_one_line_before_the_script_starts(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    destinations = {
        "tensorboard": Destinations(tensorboard=tmp_path / "tb"),
        "wandb": Destinations(wandb=True),
        "pyarrow": Destinations(log=tmp_path / "x.parquet"),
    }
    with pytest.raises(SinkError, match=f"needs the {package} package: pip install {package}"):
        destinations[package].check()


@pytest.mark.parametrize(
    "options",
    [
        ("--log", "missing/out.jsonl"),
        ("--log", "."),
        ("--tensorboard", "train.py"),
        ("--budget", "101"),
        ("--budget", "-1"),
        ("--budget", "much"),
        ("--budget", "nan"),
    ],
)
def test_a_destination_that_cannot_work_starts_nothing(tmp_path: Path, options: tuple[str, str]) -> None:
    write(tmp_path, "train.py", 'print("started")\n')
    done = whygrad(tmp_path, "run", *options, "train.py")
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("whygrad")
    assert options[0] in done.err
    assert not crashed(done.err)


def test_a_full_disk_is_said_once_and_the_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "train.py", CLIPPED + 'print("done")\n')
    done = whygrad(tmp_path, "run", "-q", "--budget", "100", "--log", "/dev/full", "train.py")
    assert (done.status, done.out) == (0, "done\n")
    assert done.err == "whygrad: --log /dev/full: no longer written (No space left on device); the run goes on\n"


class Failing:
    title = "--log x"

    def __init__(self, where: str) -> None:
        self.where = where
        self.calls: list[str] = []

    def write(self, record: Record) -> None:
        self._call("write")

    def close(self) -> None:
        self._call("close")

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.where:
            raise OSError(30, "Read-only file system")


def example(update: int = 1) -> Record:
    gradient = Gradient(1.0, 0.5, 0.0, 0.0, 4, Histogram.of([0.5] * 4))
    return Record(update, 0.5 * update, "adam", [ParameterSample("net.w", "net", 4, gradient, gradient, 0.1, 0.01)])


@pytest.mark.parametrize("where", ["write", "close"])
def test_one_destination_that_fails_does_not_take_the_others_along(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing, file = Failing(where), tmp_path / "x.jsonl"
    outlets = Outlets([failing, JsonLines(file)])
    outlets.write(example(1))
    outlets.write(example(2))
    outlets.close()
    assert failing.calls.count(where) == 1
    assert len(file.read_text().splitlines()) == 2
    assert capsys.readouterr().err == "whygrad: --log x: no longer written (Read-only file system); the run goes on\n"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_log_is_private_and_never_written_through_a_link(suffix: str, tmp_path: Path) -> None:
    victim, file = tmp_path / "victim", tmp_path / f"x.{suffix}"
    victim.write_text("precious")
    file.symlink_to(victim)
    outlets = Outlets([sink(file)])
    outlets.write(example())
    outlets.close()
    assert victim.read_text() == "precious"
    assert (file.is_symlink(), stat.S_IMODE(file.stat().st_mode)) == (False, 0o600)
    assert file.stat().st_size > 100


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_descriptor_that_became_the_scripts_is_neither_written_nor_closed(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data = tmp_path / f"x.{suffix}", tmp_path / "data"
    outlets = Outlets([sink(file)])
    outlets.write(example())
    (number,) = [n for n in range(256) if _is(n, file)]
    os.close(number)
    handle = os.open(data, os.O_RDWR | os.O_CREAT)
    if handle != number:
        os.dup2(handle, number)  # As when the script opens its own file after os.closerange.
        os.close(handle)
    outlets.write(example(2))
    outlets.close()
    gc.collect()
    os.write(number, b"mine")
    os.close(number)
    assert data.read_text() == "mine"
    said = f"whygrad: --log {file}: no longer written (the script closed its file); the run goes on\n"
    assert capsys.readouterr().err == said


def sink(file: Path) -> JsonLines | Parquet:
    if file.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet")
        return Parquet(file)
    return JsonLines(file)


def _is(number: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), file.stat())
    except OSError:
        return False


def test_a_script_that_closes_everything_keeps_its_own_file(tmp_path: Path) -> None:
    closing = CLIPPED.replace("import torch\n", "import os\nimport torch\n") + (
        "    if update == 3:\n        os.closerange(3, 256)\n        mine = [open(f'data{n}', 'w') for n in range(9)]\n"
    )
    closing += "for stream in mine:\n    stream.write('precious')\n    stream.close()\n"
    write(tmp_path, "train.py", closing)
    done = whygrad(tmp_path, "run", "-q", "--budget", "100", "--log", "out.jsonl", "train.py")
    assert done.err == (
        f"whygrad: --log {tmp_path / 'out.jsonl'}: no longer written (the script closed its file); the run goes on\n"
    )
    assert [(tmp_path / f"data{n}").read_text() for n in range(9)] == ["precious"] * 9
    assert [json.loads(line)["update"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [2, 3, 4]


def test_a_live_file_is_written_twice_a_second_at_most_and_taken_away(tmp_path: Path) -> None:
    now = [0.0]
    summary, file = Summary(), tmp_path / ".whygrad" / "live.json"
    live = Live(file, summary, "train.py", lambda: now[0])
    seen = []
    for update in range(1, 21):
        now[0] += 0.125
        summary.add(example(update))
        live.write(example(update))
        seen.append(json.loads(file.read_text())["update"])
    assert seen == [1 + update // 4 * 4 for update in range(20)]
    shown = json.loads(file.read_text())
    assert shown["layers"][0]["layer"] == "net"
    assert shown["updates_per_second"] == pytest.approx(2.0)
    live.close()
    assert list(file.parent.iterdir()) == []


def test_wandb_offline(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    write(tmp_path, "train.py", CLIPPED)
    done = whygrad(tmp_path, "run", "-q", "--budget", "100", "--wandb", "train.py", env={"WANDB_MODE": "offline"})
    assert (done.status, done.out) == (0, "")
    assert "no longer written" not in done.err
    [file] = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    data = file.read_bytes()
    assert b"raw/q_net.0.weight" in data
    assert b"term/loss/q_net" in data


def test_the_scripts_own_wandb_run_is_used(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    started = "import wandb\nwandb.init(mode='offline', settings=wandb.Settings(silent=True, console='off'))\n"
    write(tmp_path, "train.py", started + CLIPPED + "    wandb.log({'mine': 1.0})\nwandb.finish()\n")
    done = whygrad(tmp_path, "run", "-q", "--budget", "100", "--wandb", "train.py")
    assert (done.status, done.out) == (0, "")
    [file] = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    assert b"raw/q_net.0.weight" in file.read_bytes()


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path, "train.py", CLIPPED)
    assert whygrad(tmp_path, "run", "-q", "--budget", "100", "--log", "out.parquet", "train.py").status == 0
    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    rows = [row for row in table if row["parameter"] is not None]
    assert [row["parameter"] for row in rows[:4]] == PARAMETERS
    assert len(rows) == 20
    assert all(row["raw_norm"] > row["clipped_norm"] > 0 for row in rows)
    of_update = {row["quantity"]: row["value"] for row in table if row["parameter"] is None}
    assert of_update["term/loss/q_net"] > 0
    assert of_update["loss/loss"] > 0
