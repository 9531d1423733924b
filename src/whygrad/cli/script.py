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
from whygrad.capture.blame import our_own, package
from whygrad.cli import ground, last_words
from whygrad.cli.shadowed import Shadowed
from whygrad.session import FRAMEWORKS, Session
from whygrad.source import files

Code = types.CodeType


class ScriptError(Exception):
    """The script cannot be started; the message says why."""


@dataclass(frozen=True)
class Script:
    """What to run: a file, a module, a piece of code or standard input, with its arguments."""

    kind: str
    target: str
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, rest: list[str]) -> Script:
        if rest[0] in ("-m", "-c"):
            if len(rest) < 2:
                raise ScriptError(f"argument expected for {rest[0]}")
            return cls("module" if rest[0] == "-m" else "code", rest[1], tuple(rest[2:]))
        if rest[0] == "-":
            return cls("input", "-", tuple(rest[1:]))
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
    """How the script ended."""

    status: int = 0
    escaped: BaseException | None = None
    left: bool = False
    """By `sys.exit`."""
    shown: bool = False
    """Its traceback has been printed."""
    compiled: bool = False
    """Python could read it."""
    forked: bool = False
    """This is a process that the script forked: the report belongs to the one that was started."""

    def show(self, *, full: bool) -> None:
        """Print the exception that escaped, once."""
        if self.escaped is not None and not self.shown:
            self.shown = True
            self.status = last_words.say(self.escaped, full=full)


def execute(
    script: Script,
    session: Session,
    outcome: Outcome,
    shadowed: Shadowed,
    begin: Callable[[], None],
    *,
    full_traceback: bool = False,
) -> None:
    """Run the script to its end, however it ends, and note how. Before its first line, and only if it has one that
    can run, `begin` is called."""
    if all(importlib.util.find_spec(framework) is None for framework in FRAMEWORKS):
        raise ScriptError("neither torch nor tensorflow is installed in this environment: there is nothing to watch")
    parent = os.getpid()
    arrivals = [when_imported(name, functools.partial(_join, session, name, shadowed)) for name in FRAMEWORKS]
    for arrival in arrivals:
        os.register_at_fork(after_in_child=arrival.withdraw)
    try:
        run = _RUNNERS[script.kind](script)
        outcome.compiled = True
        begin()
        shadowed.step_aside(sys.path[0])
        run()
    except SystemExit as error:
        outcome.left, outcome.status = True, last_words.say(error)
    except ScriptError:
        raise
    except BaseException as error:
        outcome.escaped, outcome.status = error, 1
    for arrival in arrivals:
        arrival.withdraw()
    outcome.forked = os.getpid() != parent
    if not isinstance(outcome.escaped, KeyboardInterrupt):
        _join_threads(outcome, full_traceback)
    _flush()


def _join(session: Session, framework: str, shadowed: Shadowed) -> None:
    with shadowed.put_back():
        session.arrived(framework)


def _file(script: Script) -> Callable[[], object]:
    path = script.target
    sys.argv = [path, *script.arguments]
    main = _main_module()
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        _found_first(os.path.abspath(path), always=True)
        # What `python` itself calls for these and for modules. The public functions take __main__ away again at the
        # end, while atexit handlers and threads may still need it.
        return lambda: runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    absolute = os.path.join(os.getcwd(), path)
    code, loader = _compiled(absolute) if path.endswith(".pyc") else _read(absolute)
    _found_first(os.path.dirname(os.path.realpath(path)))
    main.__loader__ = loader
    return _executing(code, main, absolute)


def _read(file: str) -> tuple[Code, importlib.machinery.SourceFileLoader]:
    with io.open_code(file) as handle:
        source = handle.read()
    code = compile(source, file, "exec", dont_inherit=True)
    return code, importlib.machinery.SourceFileLoader("__main__", file)


def _compiled(file: str) -> tuple[Code, importlib.machinery.SourcelessFileLoader]:
    loader = importlib.machinery.SourcelessFileLoader("__main__", file)
    try:
        code = loader.get_code("__main__")
    except (ImportError, EOFError, ValueError) as error:
        raise ScriptError(f"can't run {file}: {error}") from error
    assert code is not None
    return code, loader


def _module(script: Script) -> Callable[[], object]:
    sys.argv = ["-m", *script.arguments]
    _found_first(os.getcwd())
    _main_module()
    return lambda: runpy._run_module_as_main(script.target)  # type: ignore[attr-defined]


def _code(script: Script) -> Callable[[], object]:
    sys.argv = ["-c", *script.arguments]
    _found_first("")
    return _executing(_written(script.target, "<string>"), _main_module())


def _input(script: Script) -> Callable[[], object]:
    sys.argv = ["-", *script.arguments]
    _found_first("")
    name = "<stdin>"
    return _executing(_written(sys.stdin.read() if sys.stdin is not None else "", name), _main_module(), name)


def _written(source: str, name: str) -> Code:
    files.remember(name, source)
    return compile(source, name, "exec", dont_inherit=True)


_RUNNERS = {"file": _file, "module": _module, "code": _code, "input": _input}


def _executing(code: Code, main: types.ModuleType, file: str | None = None) -> Callable[[], object]:
    if file is not None:
        main.__dict__.update(__file__=file, __cached__=None)
    return lambda: ground.run(code, main.__dict__)


def _found_first(folder: str, *, always: bool = False) -> None:
    """Where modules are looked for first, in the place of where ours were; `-P` wants no such folder."""
    if not sys.flags.safe_path:
        sys.path[0] = folder
    elif always:
        sys.path.insert(0, folder)


def _main_module() -> types.ModuleType:
    """A fresh `__main__`: pickling and spawned workers look things up in it."""
    main = types.ModuleType("__main__")
    loader = importlib.machinery.BuiltinImporter
    main.__dict__.update(__builtins__=builtins, __loader__=loader, __spec__=None, __package__=None, __annotations__={})
    sys.modules["__main__"] = main
    return main


def _join_threads(outcome: Outcome, full_traceback: bool) -> None:
    """Python waits for ordinary threads before it ends; training may go on in one.

    It is Python's own way to wait: pools of threads are told to end, and the main thread counts as over.
    """
    others = [t for t in threading.enumerate() if t is not threading.current_thread() and not t.daemon]
    if others and outcome.escaped is not None:
        outcome.show(full=full_traceback)  # Before whatever the threads have to say.
    threading._shutdown()  # type: ignore[attr-defined]


def _flush() -> None:
    """The script's output comes before ours; also what it wrote before it put other streams in place."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()  # type: ignore[union-attr]
        except Exception as error:  # A closed or strange stream is the script's own affair.
            if not our_own(error, _packages(stream)):
                raise


def _packages(stream: object) -> set[str]:
    return {package(kind) for kind in type(stream).__mro__}
