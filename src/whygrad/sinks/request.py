"""What somebody asks of the live page, as the standard library reads it; whatever it is, there is an answer."""

from __future__ import annotations

import hmac
import io
import re
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

HOST = "127.0.0.1"
_SINCE = re.compile(r"since=([0-9]{1,15})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """`page`, `events` since a version, or nothing that anybody without the secret could learn from."""

    what: str = ""
    since: int = 0


def asked(data: bytes, port: int, token: str) -> Asked:
    request = _Request(data)
    if not request.sound or request.command != "GET":
        return Asked()
    # A name that somebody points at 127.0.0.1 does not make his page ours.
    if request.headers.get_all("Host") not in ([f"{HOST}:{port}"], [f"localhost:{port}"]):
        return Asked()
    path, _, query = request.path.partition("?")
    given, _, what = path.removeprefix("/").partition("/")
    if not hmac.compare_digest(given.encode(), token.encode()) or what not in ("", "events"):
        return Asked()
    since = _SINCE.fullmatch(query)
    return Asked(what or "page", int(since[1]) if since is not None else 0)


class _Request(BaseHTTPRequestHandler):
    """Only read: the constructor of the base class would answer at once, into a connection that is not here."""

    def __init__(self, data: bytes) -> None:
        self.rfile = io.BytesIO(data)
        self.raw_requestline = self.rfile.readline()
        self.sound = self.parse_request()

    def send_error(self, *_: Any, **__: Any) -> None:
        """Said by `sound`."""

    def handle_expect_100(self) -> bool:
        return True
