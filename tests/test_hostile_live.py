"""Live files that hold anything: shown by `whygrad top`, or refused in one line; never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostile_files import COUNT, Rewritten, Terminal, file, harmless
from mutations import documents
from test_cli_other import one_line, own
from whygrad.cli.screen import screen
from whygrad.sinks.live import LIVE, Live
from whygrad.sinks.watching import WatchedError, read
from whygrad.telemetry.record import Gradient, ParameterSample, Record
from whygrad.telemetry.summary import Summary

__all__ = ["file"]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run of two layers writes."""
    file, summary = tmp_path_factory.mktemp("live") / "live.json", Summary()
    now = [0.0]
    sink = Live(file, summary, "train.py --seed 1", lambda: now[0])
    for update in range(1, 9):
        now[0] += 1.0
        gradient = Gradient(1.0 / update, 0.5, 0.0, 0.0, 4)
        samples = [ParameterSample(f"net.{n}.weight", "net", 4, gradient, gradient, 1e-3) for n in range(2)]
        record = Record(update, update / 2, "adam", samples, {"loss": 1.0 / update})
        summary.add(record)
        sink.write(record)
    return file.read_text(encoding="utf-8")


def test_ten_thousand_damaged_live_files_are_shown_or_refused(live: str, file: Rewritten) -> None:
    terminal, refusals = Terminal(), list[str]()
    shown = 0
    for content in documents(live, COUNT, seed=4):
        file.write(content)
        try:
            watched = read(file.path)
        except WatchedError as error:
            refusals.append(str(error))
            continue
        assert watched is not None
        shown += 1
        terminal.console.print(screen(watched, height=24 if shown % 2 else 3))
        assert harmless(terminal.printed())
    assert shown + len(refusals) == COUNT
    assert min(shown, len(refusals)) > COUNT // 10
    assert all(said.startswith(str(file.path)) and len(said) < 400 for said in refusals)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b'{"version": 1, "pid": -1}', b'{"version": 2}'])
def test_top_says_that_a_live_file_makes_no_sense(content: bytes, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / LIVE
    file.parent.mkdir()
    file.write_bytes(content)
    done = own(capsys, "top", str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "live.json" in one_line(done.err)


def test_top_does_not_wait_for_a_pipe(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / LIVE).parent.mkdir()
    os.mkfifo(tmp_path / LIVE)
    done = own(capsys, "top", str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "it is no file" in one_line(done.err)
