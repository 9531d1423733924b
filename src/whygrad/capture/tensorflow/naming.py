"""Names in the user's words: found through the variables and attributes that hold models and variables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from whygrad.capture.blame import our_own
from whygrad.capture.search import DEEPEST, PLAIN, Search, defined_in, has, is_a, members
from whygrad.capture.tensorflow.variables import Variables

FRAMEWORK = ("tensorflow", "keras", "tf_keras", "tf_agents")


class Naming(Search):
    """Collects the best name of each variable; a path through variables beats one through `self`."""

    def __init__(self, variables: Variables) -> None:
        super().__init__()
        self.variables = variables
        self.optimizers: dict[int, str] = {}
        self._rank: dict[int, tuple[bool, bool, int, int, int, str]] = {}

    def _visit(self, path: str, value: Any, depth: int, seen: dict[int, int]) -> None:
        if is_a(value, PLAIN) or depth > DEEPEST:
            return
        if has(value, "handle") or is_a(value, tf.Tensor):
            self._name(path, path, value, depth, bare=True)
            return
        if seen.get(id(value), depth + 1) <= depth:
            return
        seen[id(value)] = depth
        if _steps(value):
            self.optimizers.setdefault(id(value), path.removeprefix("self."))
            return
        if has(value, "trainable_variables") and not is_a(value, (list, tuple, dict)):
            self._module(path, value, depth)
        if type(value).__module__.split(".")[0] not in ("tensorflow", "keras", "tf_keras", "numpy"):
            for inner, item in members(value):
                if not inner.startswith("._self_"):
                    self._visit(path + inner, item, depth + 1, seen)

    def _module(self, path: str, module: Any, depth: int) -> None:
        if defined_in(module, "variables") not in FRAMEWORK:
            return
        try:
            variables = list(module.variables)
        except Exception as error:  # Not built yet, or half built.
            if not our_own(error):
                raise
            return
        for variable in variables:
            self._name(f"{path}.{inside(module, variable)}", path, variable, depth)

    def _name(self, name: str, module: str, variable: Any, depth: int, *, bare: bool = False) -> None:
        known = self.variables.register(variable) or self.variables.find(variable)
        if known is None:
            return
        passed = module in self._arguments
        rank = (passed, name.startswith("self"), bare, self._level, depth, name)
        if known.number not in self._rank or rank < self._rank[known.number]:
            self._rank[known.number] = rank
            known.name = name.removeprefix("self.")
            known.module = module.removeprefix("self.")


def _steps(value: Any) -> bool:
    return has(value, "apply_gradients")


def inside(module: Any, variable: Any) -> str:
    """`dense.kernel`: the path that Keras gave the variable, without the model's own name."""
    path = str(getattr(variable, "path", "") or getattr(variable, "name", "")).removesuffix(":0")
    parts = [part for part in path.split("/") if part]
    if len(parts) > 1 and parts[0] == getattr(module, "name", None):
        parts = parts[1:]
    return ".".join(parts) or "variable"
