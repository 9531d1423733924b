"""`whygrad probe`: environments so simple that failure is a verdict."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygrad import private_file
from whygrad.cli import report as reporting
from whygrad.cli.output import Painted, Voice, drawn

if TYPE_CHECKING:
    from whygrad.probe.answer import Subject
    from whygrad.probe.catalogue import Probe
    from whygrad.probe.report import Report

USAGE = """whygrad probe [options] module:make_agent
       whygrad probe [options] sb3:PPO | tianshou:PPO
       whygrad probe [options] --script train.py [-- args...]
       whygrad probe --list"""
DESCRIPTION = """\
Train an agent in environments so small that the right answer is known, and say what a wrong one means.

    def make_agent(env, gamma):     # gamma may be left out; the agent then says its own in agent.gamma
        return agent                # train(steps), act(observation), and value(observation) where there is one

A module with train(env, *, steps, seed) is taken as well (whygrad.agents.ppo), and so are Stable-Baselines3 (sb3:PPO),
Tianshou (tianshou:PPO) and scripts, which are given an environment id and judged by what they do in it.
"""
EPILOG = "exit status: 0 when every probe is passed, 1 when one fails, 2 for usage errors"
STEPS, SCRIPT_STEPS = 1000, 20_000


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """whygrad's own arguments, and those of a script after `--`. The value of --env-arg looks like an option."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    own, rest = arguments[:cut], arguments[cut + 1 :]
    if "--env-arg" in own[:-1]:
        at = own.index("--env-arg")
        own[at : at + 2] = [f"--env-arg={own[at + 1]}"]
    return own, rest


def add(commands: Any) -> None:
    command = commands.add_parser(
        "probe",
        usage=USAGE,
        help="test an agent in environments whose answer is known",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "target", metavar="TARGET", nargs="?", help="module:make_agent, module, sb3:NAME, tianshou:NAME"
    )
    command.add_argument("--script", metavar="FILE", help="probe a script instead; what follows -- is passed on to it")
    command.add_argument(
        "--env-arg", metavar="NAME", default="--env-id", help="the script's option for the environment (--env-id)"
    )
    command.add_argument("--only", metavar="PROBE", action="append", default=[], help="a code or name; may be repeated")
    command.add_argument(
        "--steps", metavar="N", type=_count, help=f"steps per training (default: {STEPS}; scripts: {SCRIPT_STEPS})"
    )
    command.add_argument("--seed", metavar="N", type=int, default=0, help="default: 0")
    command.add_argument("--image", action="store_true", help="observations are pictures, 36 by 36 by 1")
    command.add_argument("--continuous", action="store_true", help="continuous actions in every probe")
    command.add_argument("--json", metavar="FILE", type=Path, help="also write the machine-readable report here")
    command.add_argument("--list", action="store_true", help="list the probes and exit")
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")
    reporting.add_format(command)
    command.set_defaults(main=main)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def main(options: argparse.Namespace) -> int:
    voice = Voice(sys.stderr)
    try:
        from whygrad.probe.catalogue import PROBES, chosen
        from whygrad.probe.registration import identity
    except ImportError as error:
        return voice.complain(str(error))
    if options.list:
        rows = [f"{p.code}  {p.title:<18}{identity(p.name):<36}{_granted(p)}\n" for p in PROBES]
        Voice(sys.stdout).say("".join(rows))
        return 0
    if options.json is not None and not private_file.writable(options.json):
        return voice.complain(f"--json {options.json}: cannot be written; nothing was probed")
    try:
        chosen(options.only)
        subject = _subject(options)
        report = _probed(subject, options, voice)
    except ValueError as error:
        return voice.complain(" ".join(str(error).split()))
    _tell(report, options, voice)
    return 130 if report.interrupted else 0 if report else 1


def _granted(probe: Probe) -> str:
    return f"after {', '.join(probe.takes_for_granted)}" if probe.takes_for_granted else ""


def _subject(options: argparse.Namespace) -> Subject:
    from whygrad.probe.adapters.script import Script
    from whygrad.probe.targets import find
    from whygrad.probe.training import Trained

    if (options.target is None) == (options.script is None):
        raise ValueError("name what to probe, an agent or a --script; see whygrad probe --help")
    if options.script is not None:
        return Script(options.script, options.env_arg, tuple(options.rest))
    if options.rest:
        raise ValueError("arguments after -- are for a script (--script)")
    return Trained(find(options.target), options.target)


def _probed(subject: Subject, options: argparse.Namespace, voice: Voice) -> Report:
    """What agents print goes to stderr: stdout is the report's."""
    from whygrad.probe.answer import Settings
    from whygrad.probe.harness import run

    steps = options.steps or (STEPS if options.script is None else SCRIPT_STEPS)
    settings = Settings(steps, options.seed, options.image, options.continuous)

    def progress(number: int, count: int, probe: Probe) -> None:
        if voice.terminal and not options.quiet:
            voice.say(Painted(f"\r\x1b[Kwhygrad: probe {number} of {count}, {probe.name}"))

    with contextlib.redirect_stdout(sys.stderr):
        report = run(subject, options.only, settings, progress)
    if voice.terminal and not options.quiet:
        voice.say(Painted("\r\x1b[K"))
    return report


def _tell(report: Report, options: argparse.Namespace, voice: Voice) -> None:
    text = json.dumps(report.to_dict(), indent=1) + "\n"
    if options.json is not None:
        try:
            private_file.replace(options.json, text)
        except OSError as error:
            voice.complain(f"--json {options.json}: not written ({error.strerror})")
    if report and options.quiet:
        return
    out = Voice(sys.stdout)
    out.say(text if options.format == "json" else _rendered(report, options, out.terminal))


def _rendered(report: Report, options: argparse.Namespace, terminal: bool) -> str:
    from whygrad.probe import text

    if options.format == "concise":
        return text.concise(report) + "\n"
    return drawn(lambda console: text.show(report, console), options.color, terminal=terminal)
