"""One connection of the live page: what has come, what is still to go, and how long that may take."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from whygrad import timing
from whygrad.descriptor import Identity, identity

LONGEST_REQUEST = 8192
PATIENCE = 5.0
"""Seconds for a request to arrive."""
STALLED = 10.0
"""Seconds in which a reader takes nothing of what waits for it."""
QUIETLY = getattr(socket, "MSG_NOSIGNAL", 0)
"""A script that lets SIGPIPE end it means its own output, not a viewer who has gone."""


class GoneError(Exception):
    """Nobody is there any more, or nobody who keeps to the limits."""


@dataclass(slots=True, eq=False)
class Viewer:
    connection: socket.socket
    request: bytes = b""
    pending: bytes = b""
    seen: int = -1
    """The version that was sent last; -1 for one who does not listen."""
    closing: bool = False
    silent: bool = False
    """It has said that it will say nothing more."""
    _identity: Identity | None = None
    _due: float = field(default_factory=lambda: timing.monotonic() + PATIENCE)

    def __post_init__(self) -> None:
        self._identity = identity(self.connection.fileno())

    @property
    def ours(self) -> bool:
        return identity(self.connection.fileno()) == self._identity

    @property
    def listens(self) -> bool:
        return self.seen >= 0

    @property
    def late(self) -> bool:
        """Whether it has had its time: for its request, or for what waits for it. A listener may listen for ever."""
        return (bool(self.pending) or not self.listens) and timing.monotonic() > self._due

    def read(self) -> bool:
        """Take what has come. Whether a request is complete now."""
        try:
            data = self.connection.recv(LONGEST_REQUEST)
        except BlockingIOError:
            return False
        except OSError as error:
            raise GoneError from error
        self.silent = not data
        if self.silent and (self.listens or not self.pending):
            raise GoneError
        if self.listens or self.closing:
            return False  # It has asked already.
        self.request += data
        if len(self.request) > LONGEST_REQUEST:
            raise GoneError
        return b"\r\n\r\n" in self.request

    def queue(self, data: bytes) -> None:
        self.pending += data
        self._due = timing.monotonic() + STALLED

    def send(self) -> None:
        """As much as the other side takes now."""
        try:
            sent = self.connection.send(self.pending, QUIETLY) if self.pending else 0
        except BlockingIOError:
            return
        except OSError as error:
            raise GoneError from error
        if sent:
            self.pending = self.pending[sent:]
            self._due = timing.monotonic() + STALLED
        if self.closing and not self.pending:
            raise GoneError

    def close(self) -> None:
        """A descriptor that is another's by now stays open."""
        if self.ours:
            self.connection.close()
        else:
            self.connection.detach()
