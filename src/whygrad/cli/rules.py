"""`whygrad rules`: the catalogue."""

from __future__ import annotations

import argparse
from typing import Any

from whygrad.rule import rules


def add(commands: Any) -> None:
    command = commands.add_parser("rules", help="list what whygrad can find", description="The rules, one per line.")
    command.set_defaults(main=main)


def main(_: argparse.Namespace) -> int:
    for rule in rules().values():
        print(f"{rule.code}  {rule.name:<30}{rule.summary}")
    return 0
