"""The live page against whoever finds its port: any bytes, any pace, any number, and it is still served."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_running import python, write
from whygrad.sinks import viewer
from whygrad.sinks.page import LivePage
from whygrad.sinks.request import HOST, Asked, asked
from whygrad.sinks.server import MOST_VIEWERS

COUNT = 10_000
PORT, TOKEN = 8123, "0123456789abcdef" * 2
CORPUS = [
    b"GET /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAccept: text/html\r\nUser-Agent: Mozilla/5.0\r\n\r\n",
    b"GET /TOKEN/events?since=12 HTTP/1.1\r\nHost: localhost:PORT\r\nAccept: text/event-stream\r\n\r\n",
    b"GET //[ HTTP/1.1\r\n\r\n",
    b"GET http://[/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    b"GET /TOKEN/events?since=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    b"GET /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nExpect: 100-continue\r\nContent-Length: -1\r\n\r\n",
    b"POST /TOKEN/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
]
PIECES = [b"\r\n", b"\r\n\r\n", b"\x00", b"\xff", b":", b" ", b"\t", b"[", b"%", b"?", b"//", b"HTTP/", b"9" * 400]
PIECES += [
    b"Host: x\r\n",
    b"A: b\r\n" * 150,
    "²".encode(),
    b"HTTP/9.9",
    b"\r",
    b"\n\n",
    b"=?utf-8?q?=00?=",
    b"A" * 9000,
]


def requests(count: int, seed: int, port: int, token: str) -> Iterator[bytes]:
    """So many requests that are nearly right, or not at all."""
    chance = random.Random(seed)
    corpus = [sample.replace(b"TOKEN", token.encode()).replace(b"PORT", str(port).encode()) for sample in CORPUS]
    for _ in range(count):
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.choice((0, 1, 1, 2, 5))):
            start = chance.randrange(len(data) + 1)
            end = start + chance.choice((0, 0, 1, chance.randrange(40)))
            data[start:end] = chance.choice((chance.choice(PIECES), chance.randbytes(chance.randrange(4)), b""))
        yield bytes(data)


@pytest.fixture
def live() -> Iterator[LivePage]:
    """With an allowance that holds nobody up: what it is for is tested elsewhere."""
    page = LivePage("train.py", share=200.0)
    page.start()
    yield page
    page.server.finish(0.0)


def served(live: LivePage) -> bool:
    with urllib.request.urlopen(live.server.address, timeout=30) as answer:
        return "train.py" in answer.read().decode()


def connected(live: LivePage) -> socket.socket:
    return socket.create_connection((HOST, live.server.port), timeout=10)


def test_every_request_has_an_answer(recwarn: pytest.WarningsRecorder) -> None:
    kinds = [asked(data, PORT, TOKEN).what for data in requests(COUNT, 5, PORT, TOKEN)]
    assert {kind: kinds.count(kind) > 100 for kind in set(kinds)} == {"": True, "page": True, "events": True}
    assert not recwarn.list


def finished(client: socket.socket) -> None:
    """We have said everything; the server may have said so before, and hung up."""
    try:
        client.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


def test_ten_thousand_requests_and_the_page_is_still_served(live: LivePage, capfd: pytest.CaptureFixture[str]) -> None:
    answered = 0
    for number, data in enumerate(requests(COUNT, 6, live.server.port, live.server.token)):
        with contextlib.suppress(ConnectionError), connected(live) as client:
            client.sendall(data)
            if number % 3:
                continue  # Gone before the answer.
            finished(client)
            first = client.recv(64)
            assert first == b"" or first.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 200 "))
            answered += bool(first)
    assert answered > 1000
    assert served(live)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("query", "since"),
    [("since=7", 7), ("", 0), ("since=", 0), ("since=-1", 0), ("since=" + "9" * 5000, 0), ("since=٣", 0), ("x=1", 0)],
)
def test_since_is_a_number_or_nothing(query: str, since: int) -> None:
    request = f"GET /{TOKEN}/events?{query} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\n\r\n"
    assert asked(request.encode(), PORT, TOKEN) == Asked("events", since)


def test_hundreds_of_clients_that_say_nothing_keep_nobody_out(live: LivePage) -> None:
    with contextlib.ExitStack() as silent:
        for number in range(300):
            client = silent.enter_context(connected(live))
            if number % 2:
                client.send(b"GET /")
        assert served(live)
        assert len(live.server._viewers) <= MOST_VIEWERS
    assert served(live)


def test_a_request_that_never_ends_is_dropped(live: LivePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "PATIENCE", 0.3)
    began = time.monotonic()
    with connected(live) as slow:
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 10:
                slow.send(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 10
    with connected(live) as endless, contextlib.suppress(ConnectionError):
        for _ in range(100_000):
            endless.send(b"A: b\r\n" * 1000)
    assert served(live)


def test_whoever_never_reads_is_dropped(live: LivePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "STALLED", 0.3)
    monkeypatch.setattr(live, "changes", lambda since: (since + 1, "data: " + "x" * 1_000_000 + "\n\n"))
    address = f"GET /{live.server.token}/events HTTP/1.1\r\nHost: {HOST}:{live.server.port}\r\n\r\n"
    with connected(live) as deaf:
        deaf.sendall(address.encode())
        deadline = time.monotonic() + 10
        while not live.server.watched and time.monotonic() < deadline:
            time.sleep(0.01)
        while live.server.watched and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not live.server.watched
    assert served(live)


def test_who_says_that_he_has_said_everything_still_gets_the_page(live: LivePage) -> None:
    with connected(live) as client:
        client.sendall(f"GET /{live.server.token}/ HTTP/1.0\r\nHost: {HOST}:{live.server.port}\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        received = b"".join(iter(lambda: client.recv(4096), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body.endswith(b"</html>\n")


def test_silent_clients_do_not_hold_up_the_end() -> None:
    page = LivePage("train.py", share=200.0)
    page.start()
    with connected(page), connected(page):
        while len(page.server._viewers) < 2:
            time.sleep(0.01)
        began = time.monotonic()
        page.server.finish(5.0)
        assert time.monotonic() - began < 2.0
    with pytest.raises(ConnectionRefusedError):
        connected(page)


# -- beside a script of any manners


def ran(folder: Path, code: str) -> tuple[int, str, str]:
    done = python(folder, str(write(folder, "script.py", code)))
    return done.status, done.out, done.err


CLOSING = """\
import os, socket, sys, time
from whygrad.sinks.page import LivePage

page = LivePage("train.py", share=200.0)
page.start()
with socket.create_connection(("127.0.0.1", page.server.port)) as client:
    while not page.server._viewers:
        time.sleep(0.01)
    os.closerange(3, 100)
    mine = [open(f"data{n}", "w") for n in range(8)]
    ours = socket.create_server(("127.0.0.1", 0))
    client.detach()
for _ in range(8):
    time.sleep(0.1)
for stream in mine:
    stream.write("precious")
    stream.close()
caller = socket.create_connection(ours.getsockname(), timeout=10)
ours.settimeout(10)
answered, _ = ours.accept()
answered.sendall(b"mine")
print(caller.recv(10).decode())
page.server.finish(0.0)
"""


LEAVING = """\
import signal, socket, time
from whygrad.sinks.page import LivePage

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
page = LivePage("train.py", share=200.0)
page.changes = lambda since: (since + 1, "data: " + "x" * 100_000 + "\\n\\n")
page.start()
for _ in range(20):
    client = socket.create_connection(("127.0.0.1", page.server.port))
    asked = f"GET /{page.server.token}/events HTTP/1.1\\r\\nHost: 127.0.0.1:{page.server.port}\\r\\n\\r\\n"
    client.sendall(asked.encode())
    client.close()  # The first answer meets nobody, the second one a closed connection.
    time.sleep(0.02)
page.server.finish(0.5)
print("alive")
"""


def test_a_viewer_who_goes_does_not_end_a_script_that_lets_pipes_end_it(tmp_path: Path) -> None:
    assert ran(tmp_path, LEAVING) == (0, "alive\n", "")


def test_descriptors_that_the_script_took_over_are_left_to_it(tmp_path: Path) -> None:
    said = "whygrad: --live: no longer served (the script closed its socket); the run goes on\n"
    assert ran(tmp_path, CLOSING) == (0, "mine\n", said)
    assert [(tmp_path / f"data{n}").read_text() for n in range(8)] == ["precious"] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_answers_nobody(live: LivePage) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"open" if live.server._listening.fileno() >= 0 else b"shut")  # type: ignore[union-attr]
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"shut"
    os.close(reader)
    os.close(writer)
    assert served(live)
    assert threading.active_count() >= 2
