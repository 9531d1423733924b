"""`%load_ext whygrad`: watch a cell, ask about a loss."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import shlex
from importlib import import_module
from typing import Any, NoReturn

from whygrad import config as configuration
from whygrad.asking import Explanation, explain
from whygrad.report.model import Report
from whygrad.session import Session, active, annotate, watch

USAGE = """%%whygrad [--updates N] [--trace auto|always|off]   on top of a cell: watch it and show the report
%whygrad start | stop                                watch several cells
%whygrad explain LOSS [MODULE ...]                   which parameters a loss reaches (default: every module there is)
%whygrad report                                      the last report again"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _usage(message)


def _usage(message: str) -> Exception:
    """IPython shows such an error as one line."""
    kind: type[Exception] = import_module("IPython.core.error").UsageError
    return kind(f"{message}\n{USAGE}")


class Magics:
    """The commands, for one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._report: Report | None = None

    def cell(self, line: str, cell: str) -> None:
        """Run the rest of the cell as it would run without us, and show what was seen."""
        session = self._started(line)
        error: BaseException | None = None
        try:
            self._run(line, cell)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._report = session.stop(error)
            annotate(error, self._report)
            import_module("IPython.display").display(self._report)

    def line(self, line: str) -> Any:
        word, _, rest = line.strip().partition(" ")
        if word == "explain":
            return self._explain(rest)
        if word == "start":
            self._started(rest)
            return None
        if word == "stop":
            session = active()
            if session is None:
                raise _usage("whygrad is not watching; %whygrad start begins")
            self._report = session.stop()
        elif word != "report":
            raise _usage(f"unknown command {word!r}" if word else "what is to be done?")
        if self._report is None:
            raise _usage("there is no report yet")
        return self._report

    def _started(self, line: str) -> Session:
        parser = _Parser(prog="%%whygrad", add_help=False)
        parser.add_argument("--updates", type=int, default=5)
        parser.add_argument("--trace", choices=configuration.TRACE, default="auto")
        options = parser.parse_args(shlex.split(line))
        try:
            return watch(updates=options.updates, trace=options.trace).start()
        except (configuration.ConfigError, RuntimeError) as error:
            raise _usage(str(error)) from None

    def _run(self, line: str, cell: str) -> None:
        shell = self._shell
        # A comment in place of our own line, so that lines count as in the cell.
        source = shell.transform_cell(f"# %%whygrad {line}\n{cell}")
        name = shell.compile.cache(source, _number(shell))
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), shell.user_ns)
        if last is not None:
            exec(compile(ast.Interactive([last]), name, "single"), shell.user_ns)

    def _explain(self, rest: str) -> Explanation:
        words = shlex.split(rest)
        if not words:
            raise _usage("explain needs a loss")
        names = self._shell.user_ns
        for word in words:
            if word not in names:
                raise _usage(f"there is no {word!r} here")
        modules = words[1:] or [n for n, v in names.items() if hasattr(v, "named_parameters") and not n.startswith("_")]
        if not modules:
            raise _usage("there is no module here whose parameters the loss could reach")
        return _together({name: explain(names[words[0]], names[name]) for name in modules})


def _number(shell: Any) -> int:
    """Of the cell that runs: the one compiled last. `execution_count` may be ahead (IPython 9.18)."""
    compiled = list(getattr(shell.compile, "_filename_map", {}).values())
    return int(compiled[-1]) if compiled else int(shell.execution_count)


def _together(answers: dict[str, Explanation]) -> Explanation:
    reached = tuple(f"{module}.{name}" for module, found in answers.items() for name in found.reached)
    missing = {f"{module}.{name}": why for module, found in answers.items() for name, why in found.missing.items()}
    first = next(iter(answers.values()))
    return dataclasses.replace(first, reached=reached, missing=missing)


def register(shell: Any) -> None:
    magics = Magics(shell)
    shell.register_magic_function(magics.cell, "cell", "whygrad")
    shell.register_magic_function(magics.line, "line", "whygrad")
