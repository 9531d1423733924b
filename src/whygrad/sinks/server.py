"""A server for one person: on 127.0.0.1 only, behind a secret in the address, within an allowance of time.

One thread and no framework: requests that come faster than the allowance permits wait in the kernel's queue, so that
nobody who floods it can take time from the training. Requests are read by the standard library (`request.py`).
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from dataclasses import dataclass, field
from typing import Protocol

from whygrad import timing
from whygrad.descriptor import Identity, identity
from whygrad.sinks.allowance import Allowance
from whygrad.sinks.request import HOST, asked
from whygrad.sinks.sink import say
from whygrad.sinks.viewer import GoneError, Viewer

MOST_VIEWERS = 32
TICK = 0.25
HEADERS = (
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
)
# Without a descriptor of its own, which the script could close and use for something else.
Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Content(Protocol):
    """What is shown; asked in the server's thread."""

    @property
    def over(self) -> bool:
        """Nothing more will change."""

    def page(self) -> str: ...

    def changes(self, since: int) -> tuple[int, str]:
        """The latest version, and what has changed since that one as the text of an event; empty for nothing."""


class LostError(Exception):
    """The script closed what we listen at."""


@dataclass(slots=True)
class Server:
    content: Content
    allowance: Allowance
    token: str = field(default_factory=lambda: os.urandom(16).hex())
    port: int = 0
    _listening: socket.socket | None = None
    _identity: Identity | None = None
    _selector: selectors.BaseSelector = field(default_factory=Selector)
    _viewers: list[Viewer] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _ending: float | None = None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"

    @property
    def watched(self) -> bool:
        """Whether somebody listens."""
        return any(viewer.listens for viewer in list(self._viewers))

    def start(self) -> None:
        """Raises OSError where no port can be had."""
        self._listening = socket.create_server((HOST, 0), backlog=128)
        self._listening.setblocking(False)
        self._identity = identity(self._listening.fileno())
        self.port = self._listening.getsockname()[1]
        self._selector.register(self._listening, selectors.EVENT_READ)
        os.register_at_fork(after_in_child=self._close)  # A child process of the script answers nobody.
        self._thread = threading.Thread(target=self._serve, name="whygrad live page", daemon=True)
        self._thread.start()

    def finish(self, linger: float) -> None:
        """Tell the last, for so many seconds at the most, and close."""
        self._ending = timing.monotonic() + linger
        if self._thread is not None:
            self._thread.join(linger + 2 * TICK)

    def _close(self) -> None:
        for viewer in self._viewers:
            viewer.close()
        self._viewers.clear()
        if self._listening is not None and identity(self._listening.fileno()) == self._identity:
            self._listening.close()
        elif self._listening is not None:
            self._listening.detach()

    # -- the thread

    def _serve(self) -> None:
        try:
            while self._goes_on():
                self._wait_and_turn()
        except Exception as error:  # Whatever it is, it is not the script's.
            reason = str(error) if isinstance(error, LostError) else f"{type(error).__name__}: {error}"
            say(f"--live: no longer served ({reason}); the run goes on")
        self._close()
        self._selector.close()

    def _goes_on(self) -> bool:
        """To the end, and a little longer for those who have something to get."""
        waiting = any(viewer.listens or viewer.pending for viewer in self._viewers)
        return self._ending is None or (waiting and timing.monotonic() < self._ending)

    def _wait_and_turn(self) -> None:
        wait = self.allowance.wait() if self._ending is None else 0.0
        if wait:
            timing.sleep(min(wait, TICK))
            return
        ready = self._selector.select(TICK if self._ending is None else 0.02)
        began = timing.thread_time()
        self._turn(ready)
        self.allowance.spend(timing.thread_time() - began)

    def _turn(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        if self._listening is None or identity(self._listening.fileno()) != self._identity:
            raise LostError("the script closed its socket")
        for viewer in [v for v in self._viewers if not v.ours]:
            self._drop(viewer)
        for key, event in ready:
            if key.data in self._viewers:
                self._serve_one(key.data, event)
        self._tell()
        for viewer in [v for v in self._viewers if v.late]:
            self._drop(viewer)
        if any(key.fileobj is self._listening for key, _ in ready):
            self._accept()

    def _serve_one(self, viewer: Viewer, event: int) -> None:
        try:
            if event & selectors.EVENT_READ and viewer.read():
                self._answer(viewer)
            viewer.send()
            self._watch(viewer)
        except GoneError:
            self._drop(viewer)

    def _accept(self) -> None:
        """Whoever waits outside; the first of those who only come and go makes room."""
        assert self._listening is not None
        for _ in range(MOST_VIEWERS):
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            passing = [viewer for viewer in self._viewers if not viewer.listens]
            if len(self._viewers) >= MOST_VIEWERS and passing:
                self._drop(passing[0])
            if len(self._viewers) >= MOST_VIEWERS:
                connection.close()
                continue
            connection.setblocking(False)
            viewer = Viewer(connection)
            self._viewers.append(viewer)
            self._selector.register(connection, selectors.EVENT_READ, viewer)

    def _answer(self, viewer: Viewer) -> None:
        found = asked(viewer.request, self.port, self.token)
        viewer.closing = found.what != "events"
        if found.what == "page":
            body = self.content.page().encode("utf-8", "backslashreplace")
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            viewer.queue(f"{head}{HEADERS}".encode() + body)
        elif found.what == "events":
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            viewer.queue(f"{head}{HEADERS}retry: 1000\n\n".encode())
            viewer.seen = found.since
        else:
            viewer.queue(f"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n{HEADERS}".encode())

    def _tell(self) -> None:
        """Send what has changed to those who listen."""
        for viewer in [v for v in self._viewers if v.listens and not v.pending]:
            version, event = self.content.changes(viewer.seen)
            if not event:
                continue
            viewer.seen, viewer.closing = version, self.content.over
            try:
                viewer.queue(event.encode())
                viewer.send()
                self._watch(viewer)
            except GoneError:
                self._drop(viewer)

    def _watch(self, viewer: Viewer) -> None:
        wanted = (0 if viewer.silent else selectors.EVENT_READ) | (selectors.EVENT_WRITE if viewer.pending else 0)
        self._selector.modify(viewer.connection, wanted, viewer)

    def _drop(self, viewer: Viewer) -> None:
        self._viewers.remove(viewer)
        self._selector.unregister(viewer.connection)
        viewer.close()
