"""`whygrad top` in a real terminal, beside a real run; either may go without harm to the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from cli_running import LONGEST, environment, whygrad, write
from terminal import Terminal
from whygrad.cli.screen import modules, screen, sparkline
from whygrad.sinks.live import LIVE
from whygrad.sinks.watching import Row, Watched, WatchedError, alive, read

TRAINING = """\
import os, time
import torch
torch.set_num_threads(1)
q_net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
while not os.path.exists("stop"):
    loss = (q_net(torch.randn(16, 4)) - 9.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(q_net.parameters(), 0.5)
    optimizer.step()
    time.sleep(0.01)
print("trained to the end")
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    write(tmp_path, "train.py", TRAINING)
    command = [sys.executable, "-m", "whygrad", "run", "-q", "--budget", "100", "train.py"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + LONGEST
    while not (tmp_path / LIVE).exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.fixture
def top(run: subprocess.Popen[str], tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, "top")
    yield terminal
    terminal.close()


def finished(run: subprocess.Popen[str], folder: Path) -> None:
    """The run was left alone: it trains to its end and says so."""
    assert run.poll() is None
    write(folder, "stop", "")
    out, err = run.communicate(timeout=LONGEST)
    assert (run.returncode, out, err) == (0, "trained to the end\n", "")
    assert not (folder / LIVE).exists()


@pytest.mark.parametrize("keys", [b"q", b"\x03"], ids=["q", "ctrl-c"])
def test_top_shows_the_run_and_leaves_it_alone(
    run: subprocess.Popen[str], top: Terminal, tmp_path: Path, keys: bytes
) -> None:
    top.until("q_net.0", "q_net.2", "clip rate", "100%", "train.py", "updates/s", "q quits")
    top.press(keys)
    assert top.ended() == 0
    finished(run, tmp_path)


def test_killing_top_leaves_the_run_alone(run: subprocess.Popen[str], top: Terminal, tmp_path: Path) -> None:
    top.until("q_net.0")
    top.process.kill()
    assert top.ended() == -signal.SIGKILL
    finished(run, tmp_path)


def test_top_says_when_the_run_ends(run: subprocess.Popen[str], top: Terminal, tmp_path: Path) -> None:
    top.until("q_net.0")
    finished(run, tmp_path)
    assert top.ended() == 0
    assert "the run ended after" in top.seen


def test_top_says_when_the_run_dies(run: subprocess.Popen[str], top: Terminal, tmp_path: Path) -> None:
    top.until("q_net.0")
    run.kill()
    run.communicate()
    assert top.ended() == 0
    assert f"process {run.pid} is gone" in top.seen
    again = whygrad(tmp_path, "top")
    assert (again.status, again.out) == (2, "")


def test_without_a_run_there_is_one_line(tmp_path: Path) -> None:
    done = whygrad(tmp_path, "top", "elsewhere")
    assert (done.status, done.out) == (2, "")
    assert done.err == "whygrad: no running training found in elsewhere: start one with `whygrad run script.py`\n"


# -- what is shown


def row(layer: str, raw: float | None = 3.0, **changes: float | None) -> Row:
    return Row(layer, "net", raw, changes.get("clipped", 1.0), changes.get("ratio", 1e-3), 0.25, [1.0, 10.0, 100.0])


def drawn(watched: Watched, height: int = 24) -> str:
    console = Console(width=110, height=height, force_terminal=False)
    with console.capture() as captured:
        console.print(screen(watched, height))
    return captured.get()


def test_layers_that_do_not_fit_are_shown_as_networks() -> None:
    watched = Watched(1, "train.py", 7, 3723.0, 12.34, {"loss": 0.5}, [row(f"net.{n}") for n in range(50)])
    text = drawn(watched)
    assert "net.3" not in text
    assert "1:02:03" in text
    assert "12.3 updates/s" in text
    [whole] = modules(watched.rows)
    assert whole.raw == pytest.approx(3.0 * 50**0.5)
    assert whole.series == pytest.approx([value * 50**0.5 for value in (1.0, 10.0, 100.0)])


def test_names_are_text_and_gaps_are_dashes() -> None:
    text = drawn(Watched(1, "[bold]x[/bold].py", 1, 0.0, None, {}, [row("[red]net", None, clipped=None, ratio=None)]))
    assert "[bold]x[/bold].py" in text
    assert "[red]net" in text
    assert text.count("–") == 3


def test_a_sparkline_is_logarithmic() -> None:
    assert sparkline([1e-4, 1e-2, 1.0]) == "▁▅█"
    assert sparkline([0.0, 1.0, 1.0]) == " ▁▁"
    assert sparkline([]) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": 99}', json.dumps({"version": 1, "pid": "x"})])
def test_a_file_that_makes_no_sense_is_said_to_make_none(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, "live.json", text)
    with pytest.raises(WatchedError, match=r"live\.json (cannot be read|is damaged)"):
        read(file)
    assert read(tmp_path / "none.json") is None


def test_who_is_alive() -> None:
    assert alive(os.getpid())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not alive(ended.pid)
