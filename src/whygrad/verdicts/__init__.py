"""What the numbers of a probe mean: one file per code, its docstring is its page.

These are pure functions over numbers; they know neither gymnasium nor torch.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType


@dataclass(frozen=True)
class Page:
    """One code that a failing probe may say."""

    code: str
    name: str
    summary: str
    documentation: str
    module: ModuleType


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """By code: the files of this package."""
    found: dict[str, Page] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if info.name.startswith("wg"):
            module = importlib.import_module(f"{__name__}.{info.name}")
            text = (module.__doc__ or "").strip()
            found[module.CODE] = Page(module.CODE, module.NAME, text.splitlines()[0], text, module)
    return found
