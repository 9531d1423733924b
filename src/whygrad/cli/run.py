"""`whygrad run`: watch a script from its first line to its last."""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import sys
import threading
import webbrowser
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from whygrad import config as configuration
from whygrad import private_file, thresholds, verdict
from whygrad.capture.blame import our_own
from whygrad.cli import report as reporting
from whygrad.cli.ending import Ending
from whygrad.cli.output import Voice
from whygrad.cli.script import Outcome, Script, ScriptError, execute
from whygrad.cli.shadowed import Shadowed
from whygrad.report import json
from whygrad.report.html.page import page
from whygrad.report.model import Report
from whygrad.report.places import relative
from whygrad.report.text import plain
from whygrad.rule import rules
from whygrad.session import Session, annotate, asked
from whygrad.sinks.live import LIVE
from whygrad.sinks.page import LivePage
from whygrad.sinks.sink import SinkError
from whygrad.trace.deadline import Deadline
from whygrad.trace.gap import Gap

WITH_VALUE = (
    "--json --html --updates --trace --fail-on --deadline --format --color --tensorboard --log --budget".split()
)
OVERRIDING = ("updates", "trace", "fail_on", "deadline", "tensorboard", "wandb", "log", "budget")
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


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, not {text!r}")
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
        "--fail-on",
        choices=configuration.FAIL_ON,
        help="what makes the exit status 1: an error (default); also a warning; also a run that is incomplete",
    )
    command.add_argument(
        "--deadline", metavar="SECONDS", type=_seconds, help="time for the report after the script (default: 20)"
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
        voice.say(f"whygrad: no script given\nusage: {USAGE}\n")
        return 2
    try:
        watch = Watch.prepare(options, voice)
    except (ScriptError, SinkError, configuration.ConfigError) as error:
        return voice.complain(str(error))
    try:
        watch.run()
    except (ScriptError, SinkError) as error:
        return voice.complain(str(error))
    except KeyboardInterrupt:
        watch.ending.interrupted = True
    except BaseException as error:  # Between the script's last line and our first one.
        if our_own(error):
            raise
        watch.ending.keep(error)
    watch.ending.insist(watch.ending.begin)
    try:
        status = watch.ending.insist(watch.report)
    except Exception as error:
        status = watch.without_report(error)
    return watch.ending.leave(status, watch.outcome.escaped)


@dataclass
class Watch:
    """One script, run and reported on."""

    options: argparse.Namespace
    voice: Voice
    script: Script
    config: configuration.Config
    session: Session
    ending: Ending
    targets: dict[str, Path]
    base: str = field(default_factory=os.getcwd)
    outcome: Outcome = field(default_factory=Outcome)
    shadowed: Shadowed = field(default_factory=Shadowed)
    _kept: bool = False
    _told: bool = False

    @classmethod
    def prepare(cls, options: argparse.Namespace, voice: Voice) -> Watch:
        """Everything that can be wrong is said before the script starts."""
        script = Script.parse(options.rest)
        config = _config(options, script, voice)
        wanted = {"--json": options.json, "--html": options.html}
        targets = {option: Path.cwd() / file for option, file in wanted.items() if file is not None}
        for option, target in targets.items():
            if not private_file.writable(target):
                raise ScriptError(f"{option} {wanted[option]}: cannot be written; the script was not started")
        served = _served(options, script, config)
        destinations = dataclasses.replace(asked(config), live=Path.cwd() / LIVE, script=script.shown, page=served)
        destinations.check()
        rules()  # Whatever we need is loaded before the script's own modules can stand in the way.
        if served is not None:
            _announce(served, voice, show=options.open)
        deadline = Deadline(config.deadline)
        return cls(options, voice, script, config, Session(config, destinations, deadline), Ending(deadline), targets)

    def run(self) -> None:
        full = self.options.full_traceback
        execute(self.script, self.session, self.outcome, self.shadowed, self._begin, full_traceback=full)

    def _begin(self) -> None:
        reporting.set_aside(Path(self.base))

    def report(self) -> int:
        """The exit status, after everything was said and stored. May be begun again after an interruption."""
        if self.outcome.forked:
            self._show()
            return self.outcome.status
        with self.shadowed.put_back():
            report = self.session.stop(self.outcome.escaped, self.outcome.status if self.outcome.left else 0)
        self._show()
        with self.shadowed.put_back():
            self._described(report)
            if not self._kept:
                self._keep(report)
                self._kept = True
            if not self._told and (not report or not self.options.quiet):
                self._told = True
                self.voice.report(report, self.options.format, self.options.color)
        return _status(self.outcome.status, report, self.config.fail_on)

    def without_report(self, error: Exception) -> int:
        """The exit status where the report failed: the script's end is the script's all the same."""
        self.voice.complain(f"internal error, there is no report of this run ({type(error).__name__}: {error})")
        self.outcome.show(full=self.options.full_traceback)
        return self.outcome.status or int(self.config.fail_on == verdict.INCOMPLETE)

    def _described(self, report: Report) -> None:
        """The script as it was asked for; files as the person who asked would name them."""
        killed = isinstance(self.outcome.escaped, KeyboardInterrupt)  # As a shell tells of a process that died by it.
        report.script_exit_code = 128 + signal.SIGINT if killed else self.outcome.status
        report.script = self.script.shown
        report.arguments = list(self.script.arguments)
        if isinstance(self.outcome.escaped, SyntaxError) and not self.outcome.compiled:
            report.gaps = [Gap("the script has a syntax error and did not run", "mend it")]
        relative(report, self.base)

    def _show(self) -> None:
        """The exception that ended the script, with what the report knows about it."""
        if not self.outcome.forked and not self.outcome.shown:
            annotate(self.outcome.escaped, self.session.report)
        self.outcome.show(full=self.options.full_traceback)

    def _keep(self, report: Report) -> None:
        """Store the run; where that fails, say so and go on."""
        served = self.session.destinations.page
        if served is not None:
            served.finish(report)
        written = {"--json": json.dumps(report), "--html": _page(report, self.voice)}
        for option, target in self.targets.items():
            try:
                private_file.replace(target, written[option])
            except OSError as error:
                self.voice.complain(f"{option} {target}: not written ({error.strerror})")
        last = Path(self.base) / reporting.LAST
        try:
            private_file.folder(last.parent)
            private_file.replace(last.parent / ".gitignore", "*\n")
            private_file.replace(last, written["--json"])
            private_file.replace(last.with_suffix(".html"), written["--html"])
        except OSError as error:
            self.voice.complain(f"{reporting.LAST} was not written ({error.strerror}); the report is only shown here")


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


def _config(options: argparse.Namespace, script: Script, voice: Voice) -> configuration.Config:
    config = configuration.load(script.folder)
    thresholds.check(config.thresholds, config.file)
    given = {key: getattr(options, key) for key in OVERRIDING}
    for key, reason in config.refused.items():
        if given[key] is None:
            voice.complain(reason)
    return dataclasses.replace(config, **{key: value for key, value in given.items() if value is not None})


def _page(report: Report, voice: Voice) -> str:
    """The page; one that cannot be made must not take the other forms along."""
    try:
        return page(report)
    except Exception as error:
        if not our_own(error):
            raise
        voice.complain(f"the page could not be made ({type(error).__name__}: {error}); the report itself is whole")
        return f"<!doctype html><title>whygrad</title><pre>{escape(plain(report))}</pre>\n"


def _status(script: int, report: Report, fail_on: str) -> int:
    if script:
        return script
    reached = [level for level in (report.verdict, report.worst()) if level in configuration.FAIL_ON]
    strictness = configuration.FAIL_ON.index(fail_on)
    return 1 if any(configuration.FAIL_ON.index(level) >= strictness for level in reached) else 0
