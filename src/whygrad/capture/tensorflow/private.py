"""The private parts of TensorFlow that the watching needs, in one place.

They were read off 2.15.1 and 2.21. What a version lacks is None here, and `missing` says what follows.
"""

from __future__ import annotations

import importlib
from typing import Any


def _find(module: str, name: str = "") -> Any:
    try:
        found = importlib.import_module(f"tensorflow.python.{module}")
        return getattr(found, name) if name else found
    except (ImportError, AttributeError):
        return None


op_callbacks = _find("framework.op_callbacks")
pywrap = _find("pywrap_tfe")
stack = _find("util.tf_stack")
gradients = _find("framework.ops", "gradient_registry") or _find("framework.ops", "_gradient_registry")
constant_value = _find("framework.tensor_util", "constant_value")
AtomicFunction = _find("eager.polymorphic_function.atomic_function", "AtomicFunction")
BaseVariable = _find("ops.resource_variable_ops", "BaseResourceVariable")
EagerBase = _find("framework.ops", "_EagerTensorBase")
func_graph = _find("framework.func_graph")
CompatOptimizer = _find("training.optimizer", "Optimizer")

WANTED = {
    "operations cannot be seen, so no line is named; gradients are only counted": (op_callbacks, pywrap),
    "the inside of a tf.function that another function calls cannot be seen": (AtomicFunction,),
    "values that leave through .numpy() cannot be followed": (EagerBase,),
    "lines inside a tf.function cannot be named": (stack,),
}


def missing() -> list[str]:
    """What this version of TensorFlow does not let us see, in sentences."""
    return [sentence for sentence, parts in WANTED.items() if any(part is None for part in parts)]


def followed(tensor: Any) -> bool:
    """Whether an open tape follows this value."""
    return bool(pywrap.TFE_Py_TapeSetShouldRecordBackprop([tensor]))


def differentiable(operation: str) -> bool:
    """Whether TensorFlow knows a gradient for operations of this type."""
    try:
        return gradients is None or gradients.lookup(operation) is not None
    except LookupError:
        return False


def origin(file: str, line: int) -> tuple[str, int, str] | None:
    """The user's file, line and function behind a line that AutoGraph wrote."""
    if stack is None:
        return None
    mappers = stack._source_mapper_stacks[stack._get_thread_key()]
    found = mappers[-1].get_effective_source_map().get((file, line))
    return (found[0], found[1], found[2] or "<lambda>") if found is not None else None
