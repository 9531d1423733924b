"""Cells of a notebook are files only to Python; people know them by their number."""

from __future__ import annotations

import sys


def title(file: str) -> str:
    """`In[3]` for the file that a cell was compiled as, and any other file as it is."""
    return titles().get(file, file)


def titles() -> dict[str, str]:
    """The cells that have run, by the file they were compiled as; nothing outside IPython."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return {file: f"In[{number}]" for file, number in numbers.items()} if isinstance(numbers, dict) else {}
