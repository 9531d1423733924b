"""Modules that whygrad needed first and the script's own folder has, too: the script is to find its own.

Python finds a module by its name, and one that is loaded already before any file. A script with a `secrets.py` of its
own would otherwise be handed the standard library's, because we had it loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from whygrad.about import AT_START

OWN = "whygrad"


class Shadowed:
    """Takes our modules of these names away while the script runs, and puts them back where we work."""

    def __init__(self) -> None:
        self._ours: dict[str, ModuleType] = {}

    def step_aside(self, folder: str) -> None:
        """Before the script begins: make room for what lies in its folder."""
        names = _importable(folder) & {name.partition(".")[0] for name in sys.modules} - AT_START - {OWN, "__main__"}
        for name in [name for name in sys.modules if name.partition(".")[0] in names]:
            self._ours[name] = sys.modules.pop(name)

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """While we work, whoever imports these names wants ours."""
        theirs = {name: sys.modules.get(name) for name in self._ours}
        sys.modules.update(self._ours)
        try:
            yield
        finally:
            for name, module in theirs.items():
                if module is None:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = module


def _importable(folder: str) -> set[str]:
    """Names that an `import` could mean in this folder."""
    try:
        entries = os.listdir(folder or os.curdir)
    except OSError:
        return set()
    return {entry.partition(".")[0] for entry in entries}
