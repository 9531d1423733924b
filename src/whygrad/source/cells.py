"""Cells of a notebook are files only to Python; people know them by their number."""

from __future__ import annotations

import sys
from typing import Any


def title(file: str) -> str:
    """`In[3]` for the file that a cell was compiled as, and any other file as it is."""
    return titles().get(file, file)


def titles() -> dict[str, str]:
    """The cells that have run, by the file they were compiled as; nothing outside IPython."""
    numbers = getattr(getattr(_shell(), "compile", None), "_filename_map", None)
    return {file: f"In[{number}]" for file, number in numbers.items()} if isinstance(numbers, dict) else {}


def _shell() -> Any:
    module = sys.modules.get("IPython")
    try:
        return module.get_ipython() if module is not None else None
    except Exception:  # A script may call something else by this name.
        return None
