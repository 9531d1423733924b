"""The command line that all agents share: options from the fields of a configuration, progress on stderr."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

import torch

from whygrad.agents.policy import Result


def parser(name: str, config: type[Any]) -> argparse.ArgumentParser:
    """Every field of the configuration is an option; what is not given comes from preset or default."""
    whole = argparse.ArgumentParser(prog=f"python -m whygrad.agents.{name}", description=f"Train {name} and watch it.")
    whole.add_argument("--env-id", default="CartPole-v1", help="gymnasium's name of the environment (%(default)s)")
    whole.add_argument("--seed", type=int, default=1, help="of everything that is drawn (%(default)s)")
    whole.add_argument("--device", default="cpu", help="where the networks live (%(default)s)")
    whole.add_argument("--threads", type=int, default=1, help="of torch; small networks want one (%(default)s)")
    whole.add_argument("--save", metavar="FILE", help="keep the policy here")
    settings = whole.add_argument_group("settings (default, where the environment has no preset of its own)")
    for field in dataclasses.fields(config):
        _option(settings, field)
    return whole


def _option(group: argparse._ArgumentGroup, field: dataclasses.Field[Any]) -> None:
    flag, default = "--" + field.name.replace("_", "-"), field.default
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    if isinstance(default, bool):
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=f"({shown})")
    elif isinstance(default, tuple):
        group.add_argument(flag, type=int, nargs="+", metavar="N", help=f"({shown})")
    else:
        group.add_argument(flag, type=type(default), metavar=type(default).__name__.upper(), help=f"({shown})")


def main(name: str, config: type[Any], train: Callable[..., Result], arguments: list[str] | None = None) -> None:
    """Train as the command line says. Ctrl-C ends the training, and what was learned is kept."""
    whole = parser(name, config)
    options = vars(whole.parse_args(arguments))
    env, save, threads = options.pop("env_id"), options.pop("save"), options.pop("threads")
    if options.get("hidden") is not None:
        options["hidden"] = tuple(options["hidden"])
    torch.set_num_threads(max(1, threads))
    began = time.monotonic()
    with Line(sys.stderr) as line:
        try:
            result = train(env, progress=line, **options)
        except ValueError as error:
            line.clear()
            whole.exit(2, f"{whole.prog}: {error}\n")
    if save is not None:
        try:
            result.policy.save(save)
        except (OSError, RuntimeError) as error:
            whole.exit(2, f"{whole.prog}: {save} cannot be written: {error}\n")
    taken = line.step / max(time.monotonic() - began, 1e-9)
    print(f"{name} on {env}: {len(result.returns)} episodes, mean return of the last 20: {result.recent():.1f}")
    print(f"{line.step} steps, {taken:.0f} per second" + (f"; policy in {save}" if save else ""), file=sys.stderr)


class Line:
    """One line on a terminal, written over; nothing elsewhere. It also hears Ctrl-C and asks the training to end."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.shown = stream, stream.isatty()
        self.step = 0
        self._asked = False
        self._latest = 0.0
        self._before: Any = None

    def __enter__(self) -> Line:
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        signal.signal(signal.SIGINT, self._before)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        signal.signal(signal.SIGINT, self._before)  # The second time it means it.

    def __call__(self, step: int, steps: int, recent: float) -> bool:
        self.step = step
        now = time.monotonic()
        if self.shown and now - self._latest > 0.1:
            self._latest = now
            self.stream.write(f"\r\x1b[K{step:,} of {steps:,} steps, recent return {recent:.1f}")
            self.stream.flush()
        return self._asked

    def clear(self) -> None:
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
