"""`whygrad rules`: the catalogue."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from whygrad import verdicts
from whygrad.cli.output import Voice
from whygrad.rule import Rule, rules


def add(commands: Any) -> None:
    command = commands.add_parser("rules", help="list what whygrad can find", description="The rules, one per line.")
    command.set_defaults(main=main)


def main(_: argparse.Namespace) -> int:
    entries: dict[str, Rule | verdicts.Page] = {**rules(), **verdicts.pages()}
    rows = [f"{code}  {entry.name:<30}{entry.summary}\n" for code, entry in sorted(entries.items())]
    Voice(sys.stdout).say("".join(rows))
    return 0
