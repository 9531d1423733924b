"""`whygrad report`: show a stored run again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from whygrad.cli.output import complain, console
from whygrad.report import json
from whygrad.report.concise import concise
from whygrad.report.model import Report
from whygrad.report.text import show

LAST = Path(".whygrad") / "last.json"


def add(commands: Any) -> None:
    command = commands.add_parser(
        "report",
        help="show the last run again",
        description="Render a stored report on stdout. Without FILE: the last run in this folder.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", type=Path, default=LAST, help=f"default: {LAST}")
    add_format(command)
    command.set_defaults(main=main)


def add_format(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "concise", "json"), default="text", help="default: text")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def main(options: argparse.Namespace) -> int:
    import sys

    try:
        report = json.load(options.file)
    except json.ReportError as error:
        return complain(str(error))
    render(report, options.format, options.color, sys.stdout)
    return 1 if report.worst() == "error" else 0


def render(report: Report, form: str, color: str, stream: Any) -> None:
    """Write the report in one of its forms."""
    if form == "json":
        stream.write(json.dumps(report))
    elif form == "concise":
        print(concise(report), file=stream)
    else:
        show(report, console(color, stream))
    stream.flush()
