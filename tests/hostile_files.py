"""Files that are damaged ten thousand times, and a terminal that is looked at afterwards."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from whygrad import visible

COUNT = 10_000


class Rewritten:
    """A file that is given new content ten thousand times: in memory where that can be had."""

    def __init__(self, folder: Path) -> None:
        in_memory = hasattr(os, "memfd_create")
        self._handle = os.memfd_create("x") if in_memory else os.open(folder / "x", os.O_RDWR | os.O_CREAT)
        self.path = Path(f"/proc/self/fd/{self._handle}") if in_memory else folder / "x"

    def write(self, content: bytes) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, content, 0)

    def close(self) -> None:
        os.close(self._handle)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Rewritten]:
    made = Rewritten(tmp_path)
    yield made
    made.close()


def harmless(text: str) -> bool:
    """Whether a terminal would only show it; colours are ours."""
    uncoloured = re.sub(r"\x1b\[[0-9;]*m", "", text) if "\x1b" in text else text
    return visible.block(uncoloured) == uncoloured


class Terminal:
    """What is printed on a terminal that knows colours."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.console = Console(
            file=self._stream, force_terminal=True, color_system="standard", width=100, height=24, markup=False
        )

    def printed(self) -> str:
        text = self._stream.getvalue()
        self._stream.seek(0)
        self._stream.truncate()
        return text
