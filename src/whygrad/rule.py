"""What a rule is, and where the rules come from."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from types import ModuleType

from whygrad.finding import Finding
from whygrad.trace import Trace


@dataclass(frozen=True)
class Rule:
    """One entry of the catalogue, made from one file."""

    code: str
    name: str
    summary: str
    documentation: str
    check: Callable[[Trace], Iterable[Finding]]
    module: ModuleType


def from_module(module: ModuleType) -> Rule:
    """A rule file holds CODE, NAME, its documentation as docstring, and `check`."""
    documentation = (module.__doc__ or _docstring(module)).strip()
    return Rule(module.CODE, module.NAME, documentation.splitlines()[0], documentation, module.check, module)


def _docstring(module: ModuleType) -> str:
    """As it stands in the file: `python -OO` throws it away."""
    return ast.get_docstring(ast.parse(inspect.getsource(module)), clean=False) or str(module.NAME)


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """The catalogue by code: the files of `whygrad.rules`, then installed plugins."""
    package = importlib.import_module("whygrad.rules")
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if info.name.startswith("wg")]
    found = [from_module(importlib.import_module(f"{package.__name__}.{name}")) for name in names]
    found += [rule for rule in _plugins().values() if isinstance(rule, Rule)]
    return {rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)}


def broken_plugins() -> dict[str, str]:
    """Installed plugins that cannot be used, by name, with the reason."""
    return {name: found for name, found in _plugins().items() if isinstance(found, str)}


@lru_cache(maxsize=1)
def _plugins() -> dict[str, Rule | str]:
    out: dict[str, Rule | str] = {}
    for point in entry_points(group="whygrad.rules"):
        try:
            out[point.name] = from_module(point.load())
        except (Exception, SystemExit) as error:  # Whatever a stranger's file does.
            out[point.name] = f"{type(error).__name__}: {error}"
    return out
