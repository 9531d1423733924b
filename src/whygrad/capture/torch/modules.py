"""What a module holds, read off its tables: its own methods may be the user's, and may notice being called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from whygrad.capture.search import attributes, is_a

Module = torch.nn.Module


def named_submodules(module: Module) -> Iterator[tuple[str, Module]]:
    """The module itself (with an empty name) and those inside it, each once."""
    if is_a(module, torch.jit.ScriptModule):  # Its tables are torch's own, and no dictionaries.
        yield from module.named_modules()
        return
    stack, seen = [("", module)], {id(module)}
    while stack:
        path, current = stack.pop()
        yield path, current
        children = attributes(current).get("_modules")
        for name, child in reversed(list(children.items())) if isinstance(children, dict) else ():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                stack.append((f"{path}.{name}" if path else str(name), child))


def named_parameters(module: Module) -> Iterator[tuple[str, Any]]:
    """Every name of every parameter."""
    if is_a(module, torch.jit.ScriptModule):
        yield from module.named_parameters(remove_duplicate=False)
        return
    for path, owner in named_submodules(module):
        held = attributes(owner).get("_parameters")
        for name, parameter in list(held.items()) if isinstance(held, dict) else ():
            if parameter is not None:
                yield f"{path}.{name}" if path else name, parameter


def parameters(module: Module) -> list[Any]:
    """Each once, in the order of their names."""
    return list({id(parameter): parameter for _, parameter in named_parameters(module)}.values())
