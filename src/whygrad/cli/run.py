"""`whygrad run`: watch a script from its first line to its last."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import threading
import webbrowser
from html import escape
from pathlib import Path
from typing import Any

from whygrad import config as configuration
from whygrad import thresholds
from whygrad.cli import report as reporting
from whygrad.cli.output import Voice
from whygrad.cli.script import Script, ScriptError, execute
from whygrad.report import json
from whygrad.report.html.page import page
from whygrad.report.model import Report
from whygrad.report.places import relative
from whygrad.report.text import plain
from whygrad.session import asked
from whygrad.sinks.live import LIVE
from whygrad.sinks.page import LivePage
from whygrad.sinks.sink import SinkError

WITH_VALUE = "--json --html --updates --trace --fail-on --format --color --tensorboard --log --budget".split()
OVERRIDING = ("updates", "trace", "fail_on", "tensorboard", "wandb", "log", "budget")
USAGE = """whygrad run [options] script.py [args...]
       whygrad run [options] -m module [args...]
       whygrad run [options] -c code [args...]"""


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """whygrad's own arguments, and the script's: everything from the script's name on."""
    if not arguments or arguments[0] != "run":
        return arguments, []
    index = 1
    while index < len(arguments):
        argument = arguments[index]
        if argument in ("-m", "-c") or not argument.startswith("-") or argument == "-":
            return arguments[:index], arguments[index:]
        index += 2 if argument in WITH_VALUE else 1
    return arguments, []


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return value


def _percentage(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"must be a percentage from 0 to 100, not {text!r}")
    return value


def add(commands: Any) -> None:
    command = commands.add_parser(
        "run",
        usage=USAGE,
        help="run a script and explain its gradients",
        description="Run a training script unchanged, as `python` would, and explain missing gradients on stderr.",
    )
    command.add_argument("--json", metavar="FILE", type=Path, help="also write the machine-readable report here")
    command.add_argument("--html", metavar="FILE", type=Path, help="also write the report as one page here")
    command.add_argument("--updates", metavar="N", type=_count, help="updates to trace per loss (default: 5)")
    command.add_argument(
        "--trace",
        choices=configuration.TRACE,
        help="auto: trace the first updates, then rarely (default); always: every one, slow; off: only watch steps",
    )
    command.add_argument(
        "--fail-on", choices=configuration.FAIL_ON, help="lowest severity that makes the exit status 1 (default: error)"
    )
    telemetry = command.add_argument_group("telemetry: sampled gradients, raw and clipped")
    telemetry.add_argument("--tensorboard", metavar="DIR", help="write scalars and histograms for TensorBoard")
    telemetry.add_argument("--wandb", action="store_true", default=None, help="log to Weights & Biases")
    telemetry.add_argument("--log", metavar="FILE", help="write JSON lines, or Parquet if FILE ends in .parquet")
    telemetry.add_argument(
        "--budget",
        metavar="PERCENT",
        type=_percentage,
        help="time that sampling may take (default: 2; 0: no telemetry; 100: every update)",
    )
    command.add_argument(
        "--live", action="store_true", help="serve the page of the run while it goes on, on this machine"
    )
    command.add_argument("--open", action="store_true", help="with --live: open it in a browser")
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")
    command.add_argument("--full-traceback", action="store_true", help="keep whygrad's own frames in tracebacks")
    reporting.add_format(command)
    command.set_defaults(main=main)


def main(options: argparse.Namespace) -> int:
    voice = Voice(sys.stderr)
    if not options.rest:
        return voice.complain(f"no script given\nusage: {USAGE}")
    base = os.getcwd()
    last = Path(base) / reporting.LAST
    wanted = {"--json": options.json, "--html": options.html}
    targets = {option: Path(base) / file for option, file in wanted.items() if file is not None}
    try:
        script = Script.parse(options.rest)
        config = _config(options, script)
        for option, target in targets.items():
            if not _writable(target):
                return voice.complain(f"{option} {wanted[option]}: cannot be written; the script was not started")
        live = Path(base) / LIVE
        served = _served(options, script, config)
        destinations = dataclasses.replace(asked(config), live=live, script=script.shown, page=served)
        destinations.check()
        if served is not None:
            _announce(served, voice, show=options.open)
        outcome = execute(script, config, destinations, full_traceback=options.full_traceback)
    except (ScriptError, SinkError, configuration.ConfigError) as error:
        return voice.complain(str(error))
    report = outcome.report
    if report is None:
        return outcome.status
    report.script, report.script_exit_code = script.shown, outcome.status
    report.arguments = list(script.arguments)
    relative(report, base)
    if served is not None:
        served.finish(report)
    _keep(report, last, targets, voice)
    if report.loud or not options.quiet:
        voice.report(report, options.format, options.color)
    return _status(outcome.status, report, config.fail_on)


def _served(options: argparse.Namespace, script: Script, config: configuration.Config) -> LivePage | None:
    if not options.live:
        return None
    if not config.budget:
        raise SinkError("--live has nothing to show with a budget of 0; give --budget 2")
    return LivePage(script.shown, config.budget / 100.0, os.getcwd())


def _announce(served: LivePage, voice: Voice, *, show: bool) -> None:
    address = served.start()
    voice.say(f"whygrad: live at {address}\n")
    if show:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _config(options: argparse.Namespace, script: Script) -> configuration.Config:
    config = configuration.load(script.folder)
    thresholds.check(config.thresholds, config.file)
    given = {key: getattr(options, key) for key in OVERRIDING}
    return dataclasses.replace(config, **{key: value for key, value in given.items() if value is not None})


def _writable(file: Path) -> bool:
    folder = file.parent
    return not file.is_dir() and folder.is_dir() and os.access(file if file.exists() else folder, os.W_OK)


def _keep(report: Report, last: Path, targets: dict[str, Path], voice: Voice) -> None:
    """Store the run; where that fails, say so and go on."""
    written = {"--json": json.dumps(report), "--html": _page(report, voice)}
    for option, target in targets.items():
        try:
            target.write_text(written[option], encoding="utf-8")
        except OSError as error:
            voice.complain(f"{option} {target}: not written ({error.strerror})")
    try:
        last.parent.mkdir(exist_ok=True)
        ignore = last.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        last.write_text(written["--json"], encoding="utf-8")
        last.with_suffix(".html").write_text(written["--html"], encoding="utf-8")
    except OSError as error:
        voice.complain(f"{reporting.LAST} was not written ({error.strerror}); the report is only shown here")


def _page(report: Report, voice: Voice) -> str:
    """The page; one that cannot be made must not take the other forms along."""
    try:
        return page(report)
    except Exception as error:
        voice.complain(f"the page could not be made ({type(error).__name__}: {error}); the report itself is whole")
        return f"<!doctype html><title>whygrad</title><pre>{escape(plain(report))}</pre>\n"


def _status(script: int, report: Report, fail_on: str) -> int:
    if script:
        return script
    worst = report.worst()
    reached = worst == "error" or (worst == "warning" and fail_on == "warning")
    return 1 if reached and fail_on != "never" else 0
