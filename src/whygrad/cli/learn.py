"""`whygrad learn`: exercises, a tutor, and what a course needs of them without a terminal."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from whygrad import private_file
from whygrad.cli.output import Voice, drawn
from whygrad.report.styled import styled

if TYPE_CHECKING:
    from whygrad.learn.checking import Verdict
    from whygrad.learn.course import Exercise
    from whygrad.learn.folder import Folder

DESCRIPTION = """\
Autograd for reinforcement learning, by doing. Without a command: copies the exercises into a folder, shows the current
one, and checks it whenever its file is saved.
"""
EPILOG = "exit status: 0 when what was checked is passed, 1 when it is not, 2 for usage errors, 130 after Ctrl-C"


def add(commands: Any) -> None:
    command = commands.add_parser(
        "learn",
        help="learn the PyTorch that RL needs, with a tutor that sees the graph",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--folder", metavar="DIR", help="your files (default: this folder, or whygrad-learn in it)")
    command.add_argument("--notebook", metavar="DIR", type=Path, help="write the exercises as notebooks and exit")
    command.set_defaults(main=main, act=interact)
    actions = command.add_subparsers(metavar="COMMAND")
    for name, (act, text, takes) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EPILOG)
        action.add_argument("--folder", metavar="DIR", default=argparse.SUPPRESS, help="your files")
        if takes:
            action.add_argument(
                "names", metavar="NAME", nargs=takes, help="an exercise: 1_autograd/01_square, or square"
            )
        if name in ("check", "verify"):
            action.add_argument("--json", metavar="FILE", type=Path, help="also write the results here")
        if name == "check":
            action.add_argument("--all", action="store_true", help="every exercise")
        if name == "verify":
            action.add_argument("--seed", metavar="N", type=int, help="draw the same questions again")
        action.set_defaults(act=act)


def main(options: argparse.Namespace) -> int:
    """Bad input gives one sentence."""
    from whygrad.learn.workshop import WorkshopError

    try:
        if options.notebook is not None:
            return notebooks(options)
        return int(options.act(options))
    except KeyboardInterrupt:
        return 130
    except (ValueError, WorkshopError, OSError) as error:
        return Voice(sys.stderr).complain(" ".join(str(error).split()))


def say(lines: list[Text] | str) -> None:
    out = Voice(sys.stdout)
    if isinstance(lines, str):
        out.say(lines.rstrip("\n") + "\n")
        return

    def draw(console: Any) -> None:
        for line in lines:
            console.print(line, soft_wrap=True)

    out.say(drawn(draw, "auto", terminal=out.terminal))


def opened(options: argparse.Namespace) -> Folder:
    from whygrad.learn.folder import Folder, chosen

    return Folder(chosen(options.folder))


def named(options: argparse.Namespace) -> Exercise:
    """The one that was named, else the current one."""
    from whygrad.learn.course import find

    return find(options.names) if options.names else opened(options).current()


def lay_out(folder: Folder) -> None:
    made = folder.lay_out()
    folder.save()
    if made:
        say(f"{made} exercises are in {folder.root}")


def interact(options: argparse.Namespace) -> int:
    from whygrad.cli.lessons import Lessons

    folder = opened(options)
    lay_out(folder)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("This is no terminal: the current exercise is checked once; see `whygrad learn --help`.")
        return _checked(folder, [folder.current()], None)
    return Lessons(folder).run()


def check(options: argparse.Namespace) -> int:
    from whygrad.learn.course import exercises, possible

    folder = opened(options)
    if options.all and options.names:
        raise ValueError("name exercises, or say --all")
    wanted = list(exercises()) if options.all else [possible(name) for name in options.names] or [folder.current()]
    if folder.new:
        lay_out(folder)
    status = _checked(folder, wanted, options.json)
    if options.all:
        skipped()
    return status


def skipped() -> None:
    """Name the tracks that are left out here."""
    from whygrad.learn import telling

    if rows := telling.optional():
        say("\n".join(rows))


def _checked(folder: Folder, wanted: list[Exercise], file: Path | None) -> int:
    from whygrad.learn import checking, telling
    from whygrad.learn.workshop import Workshop

    results: dict[str, Verdict] = {}
    with Workshop() as workshop:
        for exercise in wanted:
            given = results[exercise.key] = checking.check(exercise, folder.file(exercise), workshop)
            folder.mark(exercise, given.passed)
            say(telling.verdict(exercise, given, folder.file(exercise)))
    passed = sum(given.passed for given in results.values())
    if len(wanted) > 1:
        say(f"{passed} of {len(wanted)} passed")
    if file is not None:
        rows = [_row(key, given.passed, given.message, given.seconds) for key, given in results.items()]
        private_file.replace(file, json.dumps(rows, indent=1) + "\n")
    return 0 if passed == len(wanted) else 1


def _row(key: str, passed: bool, message: str, seconds: float) -> dict[str, Any]:
    return {"exercise": key, "passed": passed, "message": message, "seconds": round(seconds, 2)}


def status(options: argparse.Namespace) -> int:
    from whygrad.learn import telling

    say(telling.standing(opened(options)))
    skipped()
    return 0


def listed(options: argparse.Namespace) -> int:
    from whygrad.learn import telling

    say(telling.catalogue(opened(options)))
    return 0


def hint(options: argparse.Namespace) -> int:
    exercise, folder = named(options), opened(options)
    say(next_hint(folder, exercise))
    return 0


def next_hint(folder: Folder, exercise: Exercise) -> str:
    """One more each time, the last again and again."""
    shown = min(folder.progress.hints.get(exercise.key, 0) + 1, len(exercise.hints))
    folder.progress.hints[exercise.key] = shown
    folder.save()
    return f"hint {shown} of {len(exercise.hints)}: {exercise.hints[shown - 1]}"


def explain(options: argparse.Namespace) -> int:
    exercise = named(options)
    say(f"{exercise.title}\n\n{exercise.task}\n\n{exercise.why}")
    return 0


def solution(options: argparse.Namespace) -> int:
    exercise, folder = named(options), opened(options)
    if exercise.key not in folder.progress.passed:
        say(unsolved(exercise))
        return 1
    say(exercise.solution)
    return 0


def unsolved(exercise: Exercise) -> str:
    return f"the solution is shown when {exercise.key} is passed; `whygrad learn hint {exercise.key}` helps until then"


def reset(options: argparse.Namespace) -> int:
    exercise, folder = named(options), opened(options)
    say(told_reset(exercise, folder.reset(exercise)))
    return 0


def told_reset(exercise: Exercise, kept: Path | None) -> str:
    return f"{exercise.key} is as in the beginning" + (f"; what you had is in {kept}" if kept is not None else "")


def verify(options: argparse.Namespace) -> int:
    from whygrad.learn.course import exercises, possible
    from whygrad.learn.verify import prove
    from whygrad.learn.workshop import Workshop

    began, proofs = time.monotonic(), []
    with Workshop() as workshop:
        for exercise in [possible(name) for name in options.names] or exercises():
            proof = prove(exercise, workshop, options.seed)
            proofs.append(proof)
            say([styled(f"{'proved' if proof else 'FAILED'}  {exercise.key}", style="" if proof else "bold red")])
            say([styled(f"  {complaint}") for complaint in proof.complaints])
    good, attempts = sum(map(bool, proofs)), sum(p.attempts for p in proofs)
    say(f"{good} of {len(proofs)} exercises proved: {attempts} attempts in {time.monotonic() - began:.0f} s")
    if not options.names:
        skipped()
    if options.json is not None:
        rows = [
            _row(p.exercise.key, bool(p), "; ".join(p.complaints), p.seconds) | {"slowest": p.slowest} for p in proofs
        ]
        private_file.replace(options.json, json.dumps(rows, indent=1) + "\n")
    return 0 if good == len(proofs) else 1


def notebooks(options: argparse.Namespace) -> int:
    from whygrad.learn.notebook import write

    made, kept = write(options.notebook)
    say(f"{len(made)} notebooks written to {options.notebook}" + (f"; {len(kept)} were there and stay" if kept else ""))
    return 0


Action = Callable[[argparse.Namespace], int]
ACTIONS: dict[str, tuple[Action, str, str | None]] = {
    "check": (check, "check an exercise, or the current one", "*"),
    "status": (status, "say how far you are", None),
    "list": (listed, "list the exercises", None),
    "hint": (hint, "show the next hint", "?"),
    "explain": (explain, "show the task and the reasoning behind it", "?"),
    "solution": (solution, "show the solution of an exercise that is passed", "?"),
    "reset": (reset, "give an exercise back as it was; what you wrote is kept beside it", "?"),
    "verify": (verify, "prove that exercises fail as shipped, pass when solved, and know their wrong attempts", "*"),
}
