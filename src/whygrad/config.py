"""`[tool.whygrad]` in pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from whygrad.catalogue import NAMES

FAIL_ON = ("incomplete", "warning", "error", "never")
"""From the strictest: each fails for what those after it fail for, too."""
TRACE = ("always", "auto", "off")
ROLES = ("online", "target", "actor", "critic", "temperature", "reference", "worker")
MOST_UPDATES = 1_000_000
WRITTEN = {"log": ("no log is written", "--log FILE"), "tensorboard": ("TensorBoard gets nothing", "--tensorboard DIR")}
"""Keys that name what is written: what it means to leave them out, and the option that takes their place."""


class ConfigError(Exception):
    """The configuration cannot be used; the message says what and where."""


@dataclass(frozen=True)
class Config:
    """What may be set once per project; the command line overrides it."""

    ignore: tuple[str, ...] = ()
    fail_on: str = "error"
    updates: int = 5
    trace: str = "auto"
    roles: tuple[tuple[str, str], ...] = ()
    """Module name and role, where the user states it."""
    budget: float = 2.0
    """Percent of the time that telemetry may take; 0 is none, 100 samples every update."""
    tensorboard: str = ""
    wandb: bool = False
    log: str = ""
    thresholds: dict[str, dict[str, float]] = field(default_factory=dict)
    """By code: numbers that a rule is to decide by in this project."""
    deadline: float = 20.0
    """Seconds for the report; what is done by then is shown as incomplete."""
    unknown: tuple[str, ...] = ()
    """Codes in `ignore` that do not exist."""
    file: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    """By key: why what it names is not written, in a sentence."""


def find(start: Path) -> Path | None:
    """The nearest pyproject.toml that has a [tool.whygrad] table, from here upwards."""
    for folder in (start, *start.parents):
        candidate = folder / "pyproject.toml"
        if candidate.is_file():
            tool = _read(candidate).get("tool")
            if isinstance(tool, dict) and "whygrad" in tool:
                return candidate
    return None


def load(start: Path) -> Config:
    """The configuration in force for a script in this folder."""
    here = start.resolve()
    file = find(here)
    if file is None:
        return Config()
    return _confined(parse(_read(file)["tool"]["whygrad"], str(file)), file, near=file.parent in (here, Path.cwd()))


def _confined(config: Config, file: Path, *, near: bool) -> Config:
    """A project file writes into its own folder only, and only for who works there: it may have come with a download,
    or lie far above."""
    paths: dict[str, str] = {}
    refused: dict[str, str] = {}
    for key, (without, option) in WRITTEN.items():
        named = getattr(config, key)
        if not named:
            continue
        if not near:
            reason = f"{key} in {file} counts only in the script's folder or the current one"
        elif not _inside(named, file.parent):
            reason = f"{key} in {file} leads out of its folder"
        else:
            paths[key] = str(file.parent / named)
            continue
        refused[key] = f"{without}: {reason}; give {option} instead"
    return replace(config, log=paths.get("log", ""), tensorboard=paths.get("tensorboard", ""), refused=refused)


def _inside(named: str, folder: Path) -> bool:
    """Also when links are followed."""
    target = Path(os.path.realpath(folder / named))
    return ".." not in Path(named).parts and target.is_relative_to(os.path.realpath(folder))


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read ({error})") from error
    except (ValueError, RecursionError) as error:  # Also numbers too long and tables too deep for tomllib.
        raise ConfigError(f"{file}: not valid TOML ({error})") from error


def parse(table: Any, file: str) -> Config:
    """Check every key; a mistyped one is an error, not silence."""
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.whygrad] must be a table")
    known = {f.name.replace("_", "-") for f in fields(Config)} - {"unknown", "file", "refused"}
    for key in table:
        if key not in known:
            raise ConfigError(f"{file}: unknown key {_shown(key)} in [tool.whygrad]; known: {', '.join(sorted(known))}")
    ignore = table.get("ignore", [])
    if not isinstance(ignore, list) or not all(isinstance(code, str) for code in ignore):
        raise ConfigError(f'{file}: ignore must be a list of codes such as ["WG103"]')
    updates = table.get("updates", 5)
    if not isinstance(updates, int) or isinstance(updates, bool) or not 1 <= updates <= MOST_UPDATES:
        raise ConfigError(f"{file}: updates must be a whole number of at least 1, not {_shown(updates)}")
    return Config(
        tuple(ignore),
        _choice(table, "fail-on", FAIL_ON, "error", file),
        updates,
        _choice(table, "trace", TRACE, "auto", file),
        _roles(table.get("roles", {}), file),
        _budget(table.get("budget", 2.0), file),
        _text(table, "tensorboard", file),
        _flag(table, "wandb", file),
        _text(table, "log", file),
        _thresholds(table.get("thresholds", {}), file),
        _seconds(table.get("deadline", 20.0), file),
        tuple(code for code in ignore if code not in NAMES),
        file,
    )


def _roles(table: Any, file: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.whygrad.roles] must be a table of module names and roles")
    for name, role in table.items():
        if role not in ROLES:
            raise ConfigError(f"{file}: the role of {name} must be one of {', '.join(ROLES)}, not {_shown(role)}")
    return tuple(table.items())


def _thresholds(table: Any, file: str) -> dict[str, dict[str, float]]:
    if not isinstance(table, dict) or not all(isinstance(numbers, dict) for numbers in table.values()):
        raise ConfigError(
            f"{file}: [tool.whygrad.thresholds] must hold a table per code, such as WG802 = {{ far = 1.0 }}"
        )
    for code, numbers in table.items():
        for name, value in numbers.items():
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise ConfigError(f"{file}: the threshold {name!r} of {code} must be a number, not {_shown(value)}")
    return {code: dict(numbers) for code, numbers in table.items()}


def _budget(value: Any, file: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 100:
        raise ConfigError(f"{file}: budget must be a percentage from 0 to 100, not {_shown(value)}")
    return float(value)


def _seconds(value: Any, file: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
        raise ConfigError(f"{file}: deadline must be a number of seconds above 0, not {value!r}")
    return float(value)


def _text(table: dict[str, Any], key: str, file: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, (str, os.PathLike)) or "\0" in str(value):
        raise ConfigError(f"{file}: {key} must be a path, not {_shown(value)}")
    return os.fspath(value)


def _flag(table: dict[str, Any], key: str, file: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{file}: {key} must be true or false, not {_shown(value)}")
    return value


def _choice(table: dict[str, Any], key: str, allowed: tuple[str, ...], default: str, file: str) -> str:
    value = table.get(key, default)
    if value not in allowed:
        raise ConfigError(f"{file}: {key} must be one of {', '.join(allowed)}, not {_shown(value)}")
    return str(value)


def _shown(value: object) -> str:
    try:
        written = repr(value)
    except ValueError:  # TOML's hexadecimal numbers may have more digits than Python writes.
        return "that"
    return written if len(written) <= 80 else written[:79] + "…"
