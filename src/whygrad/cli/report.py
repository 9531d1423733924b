"""`whygrad report`: show a stored run again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from whygrad.cli.output import Voice
from whygrad.report import json, table

LAST = Path(".whygrad") / "last.json"


def add(commands: Any) -> None:
    command = commands.add_parser(
        "report",
        help="show the last run again",
        description="Render a stored report on stdout. Without FILE: the last run in this folder.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", type=Path, default=LAST, help=f"default: {LAST}")
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
        return Voice(sys.stderr).complain(str(error))
    if options.matrix and options.format != "json":  # JSON has the matrix in it.
        Voice(sys.stdout).say("\n".join(line.plain for line in table.whole(report)) + "\n")
        return 0
    Voice(sys.stdout).report(report, options.format, options.color)
    return 1 if report.worst() == "error" else 0
