"""Says when the script imports a module, and not before.

A script may set CUDA_VISIBLE_DEVICES or OMP_NUM_THREADS first; importing a framework ahead of it would
make those lines do nothing.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Arrival(MetaPathFinder):
    """Sees the first import of one module and nothing else."""

    def __init__(self, module: str, callback: Callable[[], object]) -> None:
        self._module = module
        self._callback = callback
        self._busy = False

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != self._module or self._busy:
            return None
        self._busy = True  # The lookup below comes past here again.
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._busy = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Announcing(spec.loader, self)
        return spec

    def arrived(self) -> None:
        if self in sys.meta_path:  # Not withdrawn: neither a second arrival nor a forked child.
            self.withdraw()
            self._callback()

    def withdraw(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Announcing(Loader):
    """The module's own loader, followed by one call."""

    def __init__(self, loader: Loader, arrival: Arrival) -> None:
        self._loader = loader
        self._arrival = arrival

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._arrival.arrived()


def when_imported(module: str, callback: Callable[[], object]) -> Arrival:
    """Call back when the module has been imported: at once if it has been already."""
    arrival = Arrival(module, callback)
    if module in sys.modules:
        callback()
    else:
        sys.meta_path.insert(0, arrival)
    return arrival
