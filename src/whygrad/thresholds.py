"""The numbers a rule decides by: read from its file with their reasons, and changed for one project."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from whygrad.config import ConfigError
from whygrad.rule import rules


@dataclass(frozen=True, slots=True)
class Threshold:
    name: str
    """As the configuration spells it: `nearly-all`."""
    value: float
    reason: str


def of(module: ModuleType) -> dict[str, Threshold]:
    """Numbers at the top of a rule's file, with the sentence under each."""
    body = ast.parse(inspect.getsource(module)).body
    found: dict[str, Threshold] = {}
    for statement, following in zip(body, [*body[1:], None], strict=True):
        name = _constant(statement)
        value = getattr(module, name, None)
        if name and isinstance(value, (int, float)) and not isinstance(value, bool):
            said = following.value if isinstance(following, ast.Expr) else None
            reason = str(said.value) if isinstance(said, ast.Constant) else ""
            found[_spelled(name)] = Threshold(_spelled(name), value, " ".join(reason.split()))
    return found


def _constant(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) and target.id.isupper() else ""


def _spelled(name: str) -> str:
    return name.lower().replace("_", "-")


@contextmanager
def adjusted(module: ModuleType, chosen: Mapping[str, float]) -> Iterator[None]:
    """The rule decides by the project's numbers in here."""
    before = {name: getattr(module, name) for key in chosen if hasattr(module, name := key.upper().replace("-", "_"))}
    for key, value in chosen.items():
        setattr(module, key.upper().replace("-", "_"), value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def check(chosen: Mapping[str, Mapping[str, float]], file: str) -> None:
    """A mistyped name is an error, not silence."""
    for code, numbers in chosen.items():
        rule = rules().get(code)
        if rule is None:
            raise ConfigError(f"{file}: [tool.whygrad.thresholds] names {code}, which is no rule of this version")
        known = of(rule.module)
        for name in numbers:
            if name not in known:
                said = ", ".join(known) or "none"
                raise ConfigError(f"{file}: {code} has no threshold {name!r}; known: {said}")
