"""A server for one person: on 127.0.0.1 only, behind a secret in the address, within an allowance of time.

One thread, no framework: requests that come faster than the allowance permits wait in the kernel's queue, so that
nobody who floods it can take time from the training.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from whygrad.sinks.allowance import Allowance

HOST = "127.0.0.1"
MOST_VIEWERS = 32
LONGEST_REQUEST = 8192
MOST_PENDING = 4_000_000
"""Bytes that a viewer who does not read may leave behind before it is dropped."""
PATIENCE = 5.0
"""Seconds for a request to arrive."""
TICK = 0.25
HEADERS = (
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
)


class Content(Protocol):
    """What is shown; asked in the server's thread."""

    @property
    def over(self) -> bool:
        """Nothing more will change."""

    def page(self) -> str: ...

    def changes(self, since: int) -> tuple[int, str]:
        """The latest version, and what has changed since that one as the text of an event; empty for nothing."""


@dataclass(slots=True, eq=False)
class Viewer:
    connection: socket.socket
    born: float
    request: bytes = b""
    pending: bytes = b""
    seen: int = -1
    """The version that was sent last; -1 for one who does not listen."""
    closing: bool = False


@dataclass(slots=True)
class Server:
    content: Content
    allowance: Allowance
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    port: int = 0
    _listening: socket.socket | None = None
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _viewers: list[Viewer] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _ending: float | None = None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"

    @property
    def watched(self) -> bool:
        """Whether somebody listens."""
        return any(viewer.seen >= 0 for viewer in list(self._viewers))

    def start(self) -> None:
        """Raises OSError where no port can be had."""
        self._listening = socket.create_server((HOST, 0), backlog=16)
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        self._selector.register(self._listening, selectors.EVENT_READ)
        os.register_at_fork(after_in_child=self._forked)
        self._thread = threading.Thread(target=self._serve, name="whygrad live page", daemon=True)
        self._thread.start()

    def finish(self, linger: float) -> None:
        """Tell the last, for so many seconds at the most, and close."""
        self._ending = time.monotonic() + linger
        if self._thread is not None:
            self._thread.join(linger + 2 * TICK)

    def _forked(self) -> None:
        """A child process of the script answers nobody."""
        for sock in (self._listening, *(viewer.connection for viewer in self._viewers)):
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.close()

    # -- the thread

    def _serve(self) -> None:
        try:
            while self._ending is None or (self._viewers and time.monotonic() < self._ending):
                self._wait_and_turn()
        except Exception as error:  # Whatever it is, it is not the script's.
            reason = f"{type(error).__name__}: {error}"
            print(f"whygrad: --live: no longer served ({reason}); the run goes on", file=sys.stderr, flush=True)
        for viewer in list(self._viewers):
            self._drop(viewer)
        if self._listening is not None:
            self._listening.close()
        self._selector.close()

    def _wait_and_turn(self) -> None:
        wait = self.allowance.wait() if self._ending is None else 0.0
        if wait:
            time.sleep(min(wait, TICK))
            return
        ready = self._selector.select(TICK if self._ending is None else 0.02)
        began = time.thread_time()
        self._turn(ready)
        self.allowance.spend(time.thread_time() - began)

    def _turn(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, event in ready:
            if key.fileobj is self._listening:
                self._accept()
                continue
            viewer: Viewer = key.data
            try:
                if event & selectors.EVENT_READ:
                    self._read(viewer)
                if event & selectors.EVENT_WRITE and viewer in self._viewers:
                    self._send(viewer)
            except OSError:  # Gone, in the middle of whatever it was.
                self._drop(viewer)
        self._tell()
        for viewer in [v for v in self._viewers if v.seen < 0 and time.monotonic() - v.born > PATIENCE]:
            self._drop(viewer)

    def _accept(self) -> None:
        assert self._listening is not None
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return
        if len(self._viewers) >= MOST_VIEWERS:
            connection.close()
            return
        connection.setblocking(False)
        viewer = Viewer(connection, time.monotonic())
        self._viewers.append(viewer)
        self._selector.register(connection, selectors.EVENT_READ, viewer)

    def _read(self, viewer: Viewer) -> None:
        read = viewer.connection.recv(LONGEST_REQUEST)
        if not read:
            self._drop(viewer)
            return
        if viewer.seen >= 0 or viewer.closing:
            return
        viewer.request += read
        if b"\r\n\r\n" in viewer.request:
            self._answer(viewer)
        elif len(viewer.request) > LONGEST_REQUEST:
            self._drop(viewer)

    def _answer(self, viewer: Viewer) -> None:
        kind, since = self._asked(viewer.request)
        if kind == "page":
            body = self.content.page().encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            viewer.pending = f"{head}{HEADERS}Connection: close\r\n\r\n".encode() + body
            viewer.closing = True
        elif kind == "events":
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            viewer.pending = f"{head}{HEADERS}Connection: close\r\n\r\nretry: 1000\n\n".encode()
            viewer.seen = since
        else:
            viewer.pending = (
                f"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n{HEADERS}Connection: close\r\n\r\n".encode()
            )
            viewer.closing = True
        self._send(viewer)

    def _asked(self, request: bytes) -> tuple[str, int]:
        """`page`, `events` or nothing that anybody without the secret could learn from."""
        first, *lines = request.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        hosts = [line[5:].strip() for line in lines if line.lower().startswith("host:")]
        # A name that somebody points at 127.0.0.1 does not make his page ours.
        known = hosts in ([f"{HOST}:{self.port}"], [f"localhost:{self.port}"])
        _, _, path = target.path.partition("/")
        token, _, what = path.partition("/")
        if not known or method != "GET" or not hmac.compare_digest(token.encode(), self.token.encode()):
            return "", 0
        since = parse_qs(target.query).get("since", ["0"])[0]
        return {"": "page", "events": "events"}.get(what, ""), int(since) if since.isdecimal() else 0

    def _tell(self) -> None:
        """Send what has changed to those who listen."""
        for viewer in [v for v in self._viewers if v.seen >= 0 and not v.pending]:
            version, event = self.content.changes(viewer.seen)
            if event:
                viewer.pending = event.encode()
                viewer.seen = version
                viewer.closing = self.content.over
                try:
                    self._send(viewer)
                except OSError:
                    self._drop(viewer)

    def _send(self, viewer: Viewer) -> None:
        if viewer.pending:
            with contextlib.suppress(BlockingIOError):
                sent = viewer.connection.send(viewer.pending)
                viewer.pending = viewer.pending[sent:]
        if len(viewer.pending) > MOST_PENDING or (viewer.closing and not viewer.pending):
            self._drop(viewer)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if viewer.pending else 0)
        self._selector.modify(viewer.connection, wanted, viewer)

    def _drop(self, viewer: Viewer) -> None:
        if viewer in self._viewers:
            self._viewers.remove(viewer)
            with contextlib.suppress(OSError, KeyError, ValueError):
                self._selector.unregister(viewer.connection)
            viewer.connection.close()
