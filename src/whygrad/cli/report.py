"""`whygrad report`: show a stored run again."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from whygrad import private_file
from whygrad.cli.output import Voice
from whygrad.report import json, table
from whygrad.report.html.page import page
from whygrad.report.model import Report
from whygrad.report.text import flat

LAST = Path(".whygrad") / "last.json"
BEFORE = LAST.with_name("previous.json")
"""The report of the run before: nobody is to take it for that of one which has none, or none yet."""

UNFINISHED = (
    "the latest run has left no report: it is still going on, or was ended by os._exit or a signal; "
    f"the report of the run before is in {BEFORE}"
)


def add(commands: Any) -> None:
    command = commands.add_parser(
        "report",
        help="show the last run again",
        description="Render a stored report on stdout. Without FILE: the last run in this folder.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", type=Path, default=LAST, help=f"default: {LAST}")
    command.add_argument("--html", metavar="FILE", type=Path, help="write the report as one page instead of showing it")
    command.add_argument("--matrix", action="store_true", help="show who trains whom in full: terms, shares, angles")
    add_format(command)
    command.set_defaults(main=main)


def add_format(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "concise", "json"), default="text", help="default: text")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def main(options: argparse.Namespace) -> int:
    try:
        report = json.load(options.file)
    except json.ReportError as error:
        unfinished = options.file == LAST and not LAST.exists() and BEFORE.exists()
        return Voice(sys.stderr).complain(UNFINISHED if unfinished else str(error))
    if options.html is not None:
        return _page(report, options.html)
    if options.matrix and options.format != "json":  # JSON has the matrix in it.
        Voice(sys.stdout).say(flat(table.whole(report)) + "\n")
        return 0
    Voice(sys.stdout).report(report, options.format, options.color)
    return 1 if report.worst() == "error" else 0


def set_aside(folder: Path) -> None:
    """A run begins here, and may end without a report."""
    for suffix in (".json", ".html"):
        with contextlib.suppress(OSError):
            os.replace((folder / LAST).with_suffix(suffix), (folder / BEFORE).with_suffix(suffix))


def _page(report: Report, file: Path) -> int:
    voice = Voice(sys.stderr)
    try:
        private_file.replace(file, page(report))
    except OSError as error:
        return voice.complain(f"--html {file}: not written ({error.strerror})")
    voice.say(f"whygrad: report in {file}\n")
    return 0
