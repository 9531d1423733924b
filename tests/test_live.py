"""The live page: for whoever has the address and for nobody else, and never at the training's cost."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, chromium
from cli_running import environment, stored, whygrad, write
from whygrad.report.model import Report
from whygrad.sinks.allowance import ADVANCE, Allowance
from whygrad.sinks.page import LINGER, LivePage
from whygrad.sinks.request import HOST
from whygrad.sinks.server import MOST_VIEWERS
from whygrad.telemetry.record import Gradient, ParameterSample, Record
from whygrad.telemetry.summary import Summary

SCRIPT = """\
import hashlib
import sys
import time

import torch

begun = time.perf_counter()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters())
for _ in range(int(sys.argv[1])):
    loss = net(torch.randn(32, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(float(sys.argv[2]))
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest())
others = time.process_time() - time.thread_time()
open("others.txt", "w").write(f"{others} {time.perf_counter() - begun}")
"""
"""The last line: seconds of processor time that other threads took, and how long it all was."""


def record(update: int) -> Record:
    raw = Gradient(1.0, 0.5, 0.0, 0.0, 4)
    return Record(update, update / 10, "optimizer", [ParameterSample("net.weight", "net", 4, raw, raw, 1e-3)])


@pytest.fixture
def live() -> Iterator[LivePage]:
    page = LivePage("train.py", share=0.02)
    page.start()
    yield page
    page.server.finish(0.0)


def ask(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def raw(port: int, request: str) -> str:
    with socket.create_connection((HOST, port), timeout=20) as connection:
        connection.sendall(request.encode())
        out = b""
        while read := connection.recv(65536):
            out += read
    return out.decode()


def test_the_page_is_there_for_whoever_has_the_address(live: LivePage) -> None:
    status, text = ask(live.server.address)
    assert status == 200
    assert "train.py" in text
    assert 'data-live="events?since=1"' in text
    assert "connect-src &#x27;self&#x27;" in text


@pytest.mark.parametrize("path", ["", "index.html", "events", "x" * 32 + "/", "%2e%2e/", "TOKEN"])
def test_nobody_without_the_token_gets_anything(path: str, live: LivePage) -> None:
    path = path.replace("TOKEN", live.server.token[:-1] + "/")
    assert ask(f"http://{HOST}:{live.server.port}/{path}") == (403, "")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:PORT\r\nHost: evil.example"]
)
def test_a_foreign_name_for_this_machine_is_refused(host: str, live: LivePage) -> None:
    host = host.replace("PORT", str(live.server.port))
    answer = raw(live.server.port, f"GET /{live.server.token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
    assert answer.startswith("HTTP/1.1 403 ")
    assert answer.endswith("\r\n\r\n")


def test_only_reading_is_answered(live: LivePage) -> None:
    where = f"/{live.server.token}/ HTTP/1.1\r\nHost: {HOST}:{live.server.port}\r\n\r\n"
    assert raw(live.server.port, f"GET {where}").startswith("HTTP/1.1 200 ")
    for method in ("POST", "PUT", "OPTIONS", "HEAD"):
        assert raw(live.server.port, f"{method} {where}").startswith("HTTP/1.1 403 ")
    assert raw(live.server.port, "\x00\xff\r\n\r\n").startswith("HTTP/1.1 403 ")


def test_no_other_interface_is_bound(live: LivePage) -> None:
    with socket.socket() as connection, pytest.raises(ConnectionRefusedError):
        connection.connect(("127.0.0.2", live.server.port))
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:] if sys.platform == "linux" else []
    mine = [
        row.split()[1]
        for row in listening
        if row.split()[1].endswith(f":{live.server.port:04X}") and row.split()[3] == "0A"
    ]
    assert mine in ([], [f"0100007F:{live.server.port:04X}"])


def events(live: LivePage, count: int, since: int = 0) -> list[tuple[str, dict[str, str]]]:
    """The first so many events that a listener gets."""
    out: list[tuple[str, dict[str, str]]] = []
    with urllib.request.urlopen(f"{live.server.address}events?since={since}", timeout=20) as stream:
        name = ""
        for line in stream:
            if line.startswith(b"event: "):
                name = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                out.append((name, json.loads(line[6:])))
                if len(out) == count:
                    break
    return out


def test_a_listener_hears_what_changes_and_the_end(live: LivePage) -> None:
    heard: list[tuple[str, dict[str, str]]] = []
    summary = Summary()
    live.follow(summary, lambda: 0, Report)
    listener = threading.Thread(target=lambda: heard.extend(events(live, 3, since=1)))
    ask(live.server.address)
    listener.start()
    while not live.server.watched:
        time.sleep(0.01)
    time.sleep(1.1)
    summary.add(record(7))
    live.write(record(7))
    while not heard and live._version < 2:
        time.sleep(0.01)
    time.sleep(0.5)
    live.finish(live._report)
    listener.join(20)
    assert [name for name, _ in heard] == ["parts", "parts", "end"]
    assert heard[0][1].keys() == {"head", "flow"}
    assert "7 watched" in heard[0][1]["head"]


def test_whoever_listens_to_the_end_holds_up_nobody(live: LivePage) -> None:
    listener = threading.Thread(target=events, args=(live, 2))
    listener.start()
    while not live.server.watched:
        time.sleep(0.01)
    began = time.perf_counter()
    live.finish(Report())
    assert time.perf_counter() - began < LINGER
    listener.join(20)
    assert not listener.is_alive()


def test_a_failure_in_serving_is_one_line(live: LivePage, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> str:
        raise KeyError("x")

    live.page = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match=r"."):
        ask(live.server.address)
    live.server.finish(1.0)
    assert capsys.readouterr().err == "whygrad: --live: no longer served (KeyError: 'x'); the run goes on\n"


def flood(address: str, requests: int) -> None:
    """As fast as it goes, without waiting for answers."""
    port, path = re.search(r":(\d+)(/.*)", address).groups()  # type: ignore[union-attr]
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n".encode()
    for _ in range(requests):
        with contextlib.suppress(OSError), socket.create_connection((HOST, int(port)), timeout=0.02) as connection:
            connection.sendall(request)


def test_a_flood_is_paid_for_by_those_who_flood(live: LivePage) -> None:
    began = time.perf_counter()
    flood(live.server.address, 1000)
    elapsed = time.perf_counter() - began
    assert live.allowance.spent < live.allowance.share * elapsed + ADVANCE + 0.1
    assert len(live.server._viewers) <= MOST_VIEWERS


def test_what_is_spent_has_to_be_earned() -> None:
    now = [0.0]
    allowance = Allowance(0.01, lambda: now[0])
    assert allowance.affords(ADVANCE, ahead=True)
    assert not allowance.affords(0.01, ahead=False)
    allowance.spend(ADVANCE + 0.05)
    assert allowance.wait() == pytest.approx(5.0)
    now[0] = 5.0
    assert allowance.wait() == pytest.approx(0.0, abs=1e-9)


class Running:
    """`whygrad run --live` in the background."""

    def __init__(self, folder: Path, updates: int, pause: float) -> None:
        write(folder, "train.py", SCRIPT)
        command = [sys.executable, "-m", "whygrad", "run", "--live", "train.py", str(updates), str(pause)]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment({"OMP_NUM_THREADS": "1"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        found = re.search(r"live at (http://127\.0\.0\.1:\d+/[\w-]{32}/)\n", self.process.stderr.readline())
        assert found is not None
        self.address = found[1]

    def viewer(self) -> subprocess.Popen[str]:
        """Somebody in a process of their own, who writes what they hear."""
        reading = "import sys, urllib.request\nfor line in urllib.request.urlopen(sys.argv[1], timeout=60):"
        reading += " print(line.decode(), end='', flush=True)"
        command = [sys.executable, "-c", reading, f"{self.address}events"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ended(self) -> tuple[str, str]:
        return self.process.communicate(timeout=90)


def test_two_viewers_one_of_them_killed_a_reload_and_a_flood(tmp_path: Path) -> None:
    run = Running(tmp_path, 300, 0.02)
    killed, patient = run.viewer(), run.viewer()
    assert "so far" in ask(run.address)[1]
    assert "so far" in ask(run.address)[1]
    assert ask(run.address.rsplit("/", 2)[0] + "/")[0] == 403
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    flood(run.address, 1000)
    out, err = run.ended()
    heard, _ = patient.communicate(timeout=30)
    assert run.process.returncode == 0
    assert "whygrad: healthy. 300 updates watched" in err
    assert heard.rstrip().endswith("event: end\ndata: {}")
    assert "300 watched" in heard
    assert stored(tmp_path)["updates"] == 300
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(run.address, timeout=5)
    others, elapsed = map(float, (tmp_path / "others.txt").read_text().split())
    alone = whygrad(tmp_path, "run", "train.py", "300", "0", env={"OMP_NUM_THREADS": "1"})
    assert alone.out == out
    usual, _ = map(float, (tmp_path / "others.txt").read_text().split())
    assert others - usual < 0.01 * elapsed + ADVANCE + 0.15


def test_nothing_to_show_is_said_before_the_script_starts(tmp_path: Path) -> None:
    write(tmp_path, "train.py", SCRIPT)
    ended = whygrad(tmp_path, "run", "--live", "--budget", "0", "train.py", "1", "0")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "whygrad: --live has nothing to show with a budget of 0; give --budget 2\n"


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed (make test-html installs it)")
def test_a_browser_follows_the_run_to_its_end(tmp_path: Path) -> None:
    with Browser() as browser:
        run = Running(tmp_path, 300, 0.02)
        tab = browser.tab()
        tab.open(run.address)
        tab.until(lambda: tab.run("document.querySelector('.facts').innerText").find("watched") > 0)
        first = tab.run("document.querySelector('.facts').innerText")
        tab.until(lambda: tab.run("document.querySelector('.facts').innerText") != first)
        assert tab.run("document.querySelector('#live').textContent") == "live: the run is going on"
        tab.until(lambda: tab.run("document.querySelector('#live').textContent") == "the run has ended")
        assert tab.run("document.querySelector('h1').textContent") == "healthy"
        assert tab.run("document.querySelectorAll('.matrix td.consumed').length") == 1
        run.ended()
        assert tab.complaints() == []
        assert all(request.startswith(run.address) for request in tab.requests())
