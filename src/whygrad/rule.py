"""What a rule is, and where the rules come from."""

from __future__ import annotations

import importlib
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
    documentation = (module.__doc__ or "").strip()
    return Rule(module.CODE, module.NAME, documentation.splitlines()[0], documentation, module.check, module)


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """The catalogue by code: the files of `whygrad.rules`, then installed plugins."""
    package = importlib.import_module("whygrad.rules")
    modules = [
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if info.name.startswith("wg")
    ]
    modules += [point.load() for point in entry_points(group="whygrad.rules")]
    found = [from_module(module) for module in modules]
    return {rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)}
