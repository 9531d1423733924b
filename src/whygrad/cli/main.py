"""`whygrad`: the commands and what they have in common."""

from __future__ import annotations

import argparse
import sys

from whygrad.about import __version__
from whygrad.cli import explain, learn, plot, probe, report, rules, run, top

EPILOG = """\
exit status:
  the script's own status if it is not 0; else 1 when findings reach --fail-on; else 0; 2 for usage errors
"""


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="whygrad",
        description="Why is my gradient missing? Runs a training script and names the line that cut it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"whygrad {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (run, probe, report, plot, top, explain, rules, learn):
        module.add(commands)
    return whole


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    own, rest = (probe if arguments[:1] == ["probe"] else run).split(arguments)
    options = parser().parse_args(own)
    options.rest = rest
    return int(options.main(options))
