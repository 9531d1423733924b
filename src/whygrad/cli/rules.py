"""`whygrad rules`: the catalogue."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from whygrad.cli.output import Voice
from whygrad.rule import rules


def add(commands: Any) -> None:
    command = commands.add_parser("rules", help="list what whygrad can find", description="The rules, one per line.")
    command.set_defaults(main=main)


def main(_: argparse.Namespace) -> int:
    Voice(sys.stdout).say("".join(f"{r.code}  {r.name:<30}{r.summary}\n" for r in rules().values()))
    return 0
