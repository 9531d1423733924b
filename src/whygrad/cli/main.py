"""`whygrad`: the commands and what they have in common."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from whygrad import visible
from whygrad.about import __version__

COMMANDS = ("run", "probe", "report", "plot", "top", "explain", "rules", "learn")
EPILOG = """\
exit status:
  the script's own status if it is not 0; else 1 when the verdict reaches --fail-on; else 0; 2 for usage errors
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(visible.line(message))


def parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    whole = Parser(
        prog="whygrad",
        description="Why is my gradient missing? Runs a training script and names the line that cut it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"whygrad {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in names:
        importlib.import_module(f"whygrad.cli.{name}").add(commands)
    return whole


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    rest: list[str] = []
    asked = [name for name in arguments[:1] if name in COMMANDS]  # Those that nobody asks for take time to load.
    if asked and asked[0] in ("run", "probe"):
        arguments, rest = importlib.import_module(f"whygrad.cli.{asked[0]}").split(arguments)
    options = parser(asked or COMMANDS).parse_args(arguments)
    options.rest = rest
    return int(options.main(options))
