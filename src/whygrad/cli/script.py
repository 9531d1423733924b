"""Running the user's script as `python` would, with the watching around it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import threading
import types
from dataclasses import dataclass
from pathlib import Path

from whygrad.cli import tracebacks
from whygrad.cli.arrival import when_torch_arrives
from whygrad.config import Config
from whygrad.report.model import Report
from whygrad.session import Session, annotate
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
    report: Report


def execute(script: Script, config: Config, *, full_traceback: bool = False) -> Outcome:
    """Run the script to its end, however it ends, and report what was seen."""
    session = Session(config)
    if importlib.util.find_spec("torch") is None:
        message = "torch is not installed in this environment; whygrad has nothing to watch."
        print(f"whygrad: {message}", file=sys.stderr)
        return Outcome(2, Report(verdict=message))
    arrival = when_torch_arrives(lambda: session.start())
    status, syntax = 0, False
    escaped: BaseException | None = None
    try:
        _RUNNERS[script.kind](script)
        _join_threads()
    except SystemExit as error:
        status = _exit_status(error)
    except SyntaxError as error:
        escaped, status, syntax = error, 1, True
    except KeyboardInterrupt as error:
        escaped, status = error, 130
    except BaseException as error:
        escaped, status = error, 1
    finally:
        arrival.withdraw()
    _flush()
    report = session.stop(escaped)
    if escaped is not None:
        annotate(escaped, report)
        tracebacks.show(escaped, full=full_traceback)
    if syntax and session.capture is None:
        report.verdict = "the script has a syntax error and did not run."
    elif escaped is not None and not report.loud and not isinstance(escaped, KeyboardInterrupt):
        name = type(escaped).__name__
        report.verdict = f"the script ended with {name}, which is not about gradients; up to there nothing was wrong."
    return Outcome(status, report)


def _run_file(script: Script) -> None:
    path = script.target
    if os.path.isdir(path):
        sys.argv = [path, *script.arguments]
        sys.path[0] = path
        runpy.run_path(path, run_name="__main__")
        return
    with io.open_code(os.path.abspath(path)) as handle:
        source = handle.read()
    code = compile(source, path, "exec", dont_inherit=True)
    sys.argv = [path, *script.arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    main = _main_module()
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    exec(code, main.__dict__)


def _run_module(script: Script) -> None:
    sys.argv = [script.target, *script.arguments]
    sys.path[0] = os.getcwd()
    try:
        found = importlib.util.find_spec(script.target)
    except (ImportError, ValueError) as error:
        raise SystemExit(f"whygrad: no module named {script.target} ({error})") from error
    if found is None:
        raise SystemExit(f"whygrad: no module named {script.target}")
    runpy.run_module(script.target, run_name="__main__", alter_sys=True)


def _run_code(script: Script) -> None:
    sys.argv = ["-c", *script.arguments]
    sys.path[0] = ""
    files.remember("<string>", script.target)
    exec(compile(script.target, "<string>", "exec", dont_inherit=True), _main_module().__dict__)


_RUNNERS = {"file": _run_file, "module": _run_module, "code": _run_code}


def _main_module() -> types.ModuleType:
    """A fresh `__main__`: pickling and spawned workers look things up in it."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    main.__spec__ = None
    main.__package__ = None
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _join_threads() -> None:
    """Python waits for ordinary threads before it ends; training may go on in one."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _flush() -> None:
    """The script's output comes before ours."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # A closed or broken stream is the script's own affair.
