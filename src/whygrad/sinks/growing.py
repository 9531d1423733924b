"""A file that grows while the script runs, and is given up as soon as its descriptor is no longer ours."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from whygrad import private_file
from whygrad.descriptor import identity
from whygrad.sinks.sink import SinkError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Growing(io.RawIOBase):
    """Everything is written at once: somebody may be following the file, and the run may be killed."""

    def __init__(self, file: Path) -> None:
        self._handle = private_file.growing(file)
        self._identity = identity(self._handle)
        self._process = os.getpid()
        self._written = 0
        self._lost = False

    @property
    def _ours(self) -> bool:
        return identity(self._handle) == self._identity

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: ReadableBuffer, /) -> int:
        view = memoryview(data).cast("B")
        if self._lost or os.getpid() != self._process:
            return len(view)  # What a library's destructor has left to write is nobody's any more.
        if not self._ours:
            self._lost = True
            raise SinkError("the script closed its file")
        self._written += len(view)
        size = len(view)
        while view:
            view = view[os.write(self._handle, view) :]
        return size

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._ours:
                os.close(self._handle)
