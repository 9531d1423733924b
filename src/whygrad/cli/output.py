"""Where whygrad speaks: stderr, with colour only where it is wanted."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TextIO

from rich.console import Console

from whygrad import visible
from whygrad.cli.own_stream import OwnStream, own
from whygrad.report import json
from whygrad.report.concise import concise
from whygrad.report.model import Report
from whygrad.report.text import show


class Painted(str):
    """Text that was drawn here: its colours are ours, and its words were made visible before they got them."""

    __slots__ = ()


class Voice:
    """Speaks on a stream, as far as somebody reads it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = own(stream)
        self.terminal = _is_terminal(self._stream)

    def say(self, text: str) -> None:
        """Write it all, or as much as somebody reads: a reader that has gone is no failure of ours."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        seen = text if isinstance(text, Painted) else visible.block(text)
        try:
            self._stream.write(seen.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = io.StringIO()

    def complain(self, message: str) -> int:
        """One line; the status of a usage error."""
        self.say(visible.line(f"whygrad: {message}") + "\n")
        return 2

    def report(self, report: Report, form: str, color: str) -> None:
        self.say(rendered(report, form, color, terminal=self.terminal))


def rendered(report: Report, form: str, color: str, *, terminal: bool) -> str:
    """The report in one of its forms, as text."""
    if form == "json":
        return json.dumps(report)
    if form == "concise":
        return concise(report) + "\n"
    return drawn(lambda console: show(report, console), color, terminal=terminal)


def drawn(draw: Callable[[Console], None], color: str, *, terminal: bool) -> Painted:
    """What is drawn on a console, as text, with colour only where it is wanted."""
    wanted = (terminal or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
    coloured = color == "always" or (color == "auto" and wanted)
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=coloured,
        no_color=not coloured,
        color_system="standard" if coloured else None,
        width=None if terminal else 100,
        highlight=False,
        emoji=False,
        markup=False,
    )
    draw(console)
    return Painted(buffer.getvalue())


def _is_terminal(stream: TextIO | OwnStream) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (ValueError, AttributeError):
        return False
