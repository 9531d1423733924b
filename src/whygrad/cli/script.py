"""Running the user's script as `python` would, with the watching around it."""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import threading
import types
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from whygrad.capture.arrival import when_imported
from whygrad.cli import tracebacks, warned
from whygrad.config import Config
from whygrad.report.model import Report
from whygrad.session import FRAMEWORKS, Session, annotate
from whygrad.sinks.opening import Destinations
from whygrad.source import files


class ScriptError(Exception):
    """The script cannot be started; the message says why."""


@dataclass(frozen=True)
class Script:
    """What to run: a file, a module or a piece of code, with its arguments."""

    kind: str
    target: str
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, rest: list[str]) -> Script:
        if rest[0] in ("-m", "-c"):
            if len(rest) < 2:
                raise ScriptError(f"argument expected for {rest[0]}")
            return cls("module" if rest[0] == "-m" else "code", rest[1], tuple(rest[2:]))
        path = Path(rest[0])
        if path.is_dir() and not (path / "__main__.py").is_file():
            raise ScriptError(f"{rest[0]} is a folder without a __main__.py; name the script to run")
        if not path.exists():
            raise ScriptError(f"can't open {rest[0]!r}: no such file")
        if not os.access(path, os.R_OK):
            raise ScriptError(f"can't open {rest[0]!r}: permission denied")
        return cls("file", rest[0], tuple(rest[1:]))

    @property
    def folder(self) -> Path:
        path = Path(self.target)
        return (path if path.is_dir() else path.parent) if self.kind == "file" else Path.cwd()

    @property
    def shown(self) -> str:
        flag = {"module": "-m ", "code": "-c "}.get(self.kind, "")
        return " ".join([f"{flag}{self.target}", *self.arguments])


@dataclass
class Outcome:
    status: int
    report: Report | None
    """Nothing in a process that the script forked: the report belongs to the one that was started."""


def execute(
    script: Script, config: Config, destinations: Destinations | None = None, *, full_traceback: bool = False
) -> Outcome:
    """Run the script to its end, however it ends, and report what was seen."""
    if all(importlib.util.find_spec(framework) is None for framework in FRAMEWORKS):
        raise ScriptError("neither torch nor tensorflow is installed in this environment: there is nothing to watch")
    warned.relocate()
    session, parent = Session(config, destinations), os.getpid()
    arrivals = [when_imported(name, functools.partial(session.join, name)) for name in FRAMEWORKS]
    for arrival in arrivals:
        os.register_at_fork(after_in_child=arrival.withdraw)
    status, compiled = 0, False
    escaped: BaseException | None = None
    try:
        run = _RUNNERS[script.kind](script)
        compiled = True
        run()
    except SystemExit as error:
        status = _exit_status(error)
    except KeyboardInterrupt as error:
        escaped, status = error, 130
    except BaseException as error:
        escaped, status = error, 1
    for arrival in arrivals:
        arrival.withdraw()
    if not isinstance(escaped, KeyboardInterrupt):
        _join_threads()
    _flush()
    if os.getpid() != parent:
        if escaped is not None:
            tracebacks.show(escaped, full=full_traceback)
        return Outcome(status, None)
    report = session.stop(escaped)
    if escaped is not None:
        annotate(escaped, report)
        tracebacks.show(escaped, full=full_traceback)
        report.verdict = _ended_by(escaped, compiled) or report.verdict
    return Outcome(status, report)


def _ended_by(escaped: BaseException, compiled: bool) -> str:
    """What to say, when nothing is wrong with gradients, about the exception that ended the script."""
    if not compiled and isinstance(escaped, SyntaxError):
        return "the script has a syntax error and did not run."
    if isinstance(escaped, KeyboardInterrupt):
        return ""
    name = type(escaped).__name__
    return f"the script ended with {name}, which is not about gradients; up to there nothing was wrong."


def _file(script: Script) -> Callable[[], object]:
    path = script.target
    sys.argv = [path, *script.arguments]
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        sys.path[0] = path
        return lambda: runpy.run_path(path, run_name="__main__")
    absolute = os.path.join(os.getcwd(), path)
    with io.open_code(absolute) as handle:
        source = handle.read()
    code = compile(source, absolute, "exec", dont_inherit=True)
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    main = _main_module()
    main.__file__ = absolute
    main.__dict__["__cached__"] = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", absolute)
    return lambda: exec(code, main.__dict__)


def _module(script: Script) -> Callable[[], object]:
    sys.argv = ["-m", *script.arguments]
    sys.path[0] = os.getcwd()
    _main_module()
    # What `python -m` itself calls. The public run_module takes __main__ away again at the end,
    # while atexit handlers and threads may still need it.
    return lambda: runpy._run_module_as_main(script.target)  # type: ignore[attr-defined]


def _code(script: Script) -> Callable[[], object]:
    sys.argv = ["-c", *script.arguments]
    sys.path[0] = ""
    files.remember("<string>", script.target)
    code = compile(script.target, "<string>", "exec", dont_inherit=True)
    main = _main_module()
    return lambda: exec(code, main.__dict__)


_RUNNERS = {"file": _file, "module": _module, "code": _code}


def _main_module() -> types.ModuleType:
    """A fresh `__main__`: pickling and spawned workers look things up in it."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __spec__=None, __package__=None, __annotations__={})
    sys.modules["__main__"] = main
    return main


def _join_threads() -> None:
    """Python waits for ordinary threads before it ends; training may go on in one."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    try:
        print(error.code, file=sys.stderr)
    except Exception:  # The script closed its own stderr: then nobody would have read it.
        return 1
    return 1


def _flush() -> None:
    """The script's output comes before ours."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # A closed or strange stream is the script's own affair.
            continue
