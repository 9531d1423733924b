"""`whygrad plot`: gradient flow per layer as a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from whygrad import private_file
from whygrad.cli.output import Voice
from whygrad.cli.report import LAST
from whygrad.report import flow_png, json
from whygrad.report.flow import NoTelemetryError

DEFAULT = Path("gradient-flow.svg")


def add(commands: Any) -> None:
    command = commands.add_parser(
        "plot",
        help="draw the gradient flow of the last run",
        description="Mean, largest value and share of zeros of each layer's gradient, raw against clipped.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", type=Path, default=LAST, help=f"a report (default: {LAST})")
    command.add_argument(
        "-o", "--output", metavar="OUT", type=Path, default=DEFAULT, help=f".svg or .png (default: {DEFAULT})"
    )
    command.set_defaults(main=main)


def main(options: argparse.Namespace) -> int:
    voice, out = Voice(sys.stderr), options.output
    if out.suffix.lower() not in (".svg", ".png"):
        return voice.complain(f"-o {out}: the name must end in .svg or .png")
    try:
        report = json.load(options.file)
        plot = report.plot()
        private_file.replace(out, flow_png.png(plot, out) if out.suffix.lower() == ".png" else plot.svg)
    except (json.ReportError, NoTelemetryError, flow_png.PngError) as error:
        return voice.complain(str(error))
    except OSError as error:
        return voice.complain(f"-o {out}: not written ({error.strerror})")
    voice.say(f"whygrad: gradient flow of {len(plot.layers)} layers in {out}\n")
    return 0
