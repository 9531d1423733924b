"""`whygrad top`: a running training in the terminal, like `top`; it only reads."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from whygrad.cli.keys import Keys
from whygrad.cli.output import Voice
from whygrad.cli.screen import screen
from whygrad.sinks.live import LIVE
from whygrad.sinks.watching import Watched, WatchedError, alive, read

REFRESH = 0.25
PATIENCE = 3.0
"""Seconds to wait for the first sample of a run that has just begun."""


def add(commands: Any) -> None:
    command = commands.add_parser(
        "top",
        help="watch a running training",
        description="Gradient norms, clipping and update ratios of a `whygrad run` that is going on. "
        "q or Ctrl-C quits and leaves the run alone.",
    )
    command.add_argument(
        "folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where the run was started (default: here)"
    )
    command.set_defaults(main=main)


def main(options: argparse.Namespace) -> int:
    voice, file = Voice(sys.stderr), options.folder / LIVE
    try:
        first = _first(file)
        if first is None:
            nothing = f"no running training found in {options.folder}: start one with `whygrad run script.py`"
            return voice.complain(nothing)
        voice.say(_watch(file, first))
    except WatchedError as error:
        return voice.complain(str(error))
    except KeyboardInterrupt:
        return 0
    return 0


def _first(file: Path) -> Watched | None:
    """The run, as soon as it has something to show."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = read(file)
        if found is not None and alive(found.pid):
            return found
        if time.monotonic() > deadline:
            return None
        time.sleep(REFRESH)


def _watch(file: Path, shown: Watched) -> str:
    """Until somebody quits or the run is over; then the last word."""
    console = Console(stderr=not sys.stdout.isatty())
    with Keys() as keys, Live(console=console, screen=console.is_terminal, auto_refresh=False) as view:
        while True:
            view.update(screen(shown, console.size.height), refresh=True)
            if keys.pressed("q", REFRESH):
                return ""
            latest = read(file)
            if not alive(shown.pid):
                died = latest is not None and latest.pid == shown.pid
                return _ended(shown, "died" if died else "ended")
            if latest is None:
                return _ended(shown, "ended")
            shown = latest


def _ended(shown: Watched, how: str) -> str:
    more = "see `whygrad report`" if how == "ended" else f"process {shown.pid} is gone without a report"
    return f"whygrad: the run {how} after {shown.update} updates; {more}\n"
