"""Files that whygrad leaves behind: whole or not at all, readable by their owner only, never through a link.

They quote the user's source, and a run may be killed at any moment.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

STREAMS = ("/dev/", "/proc/")
"""Below here nothing is a file to be replaced: `--json /dev/stdout` means the stream."""


def replace(file: Path, content: str | bytes) -> None:
    """Put this in the place of whatever is there. On failure (OSError) the old content stands."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    if _is_stream(file):
        with open(file, "wb", buffering=0) as stream:
            stream.write(data)
        return
    fresh = file.with_name(f".{file.name[:80]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        _write(fresh, data)
        os.replace(fresh, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise


def growing(file: Path) -> int:
    """A descriptor for what is written bit by bit, in the place of whatever is there; a stream as it is."""
    follow = 0
    if not _is_stream(file):
        replace(file, b"")
        follow = getattr(os, "O_NOFOLLOW", 0)
    return os.open(file, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0) | follow)


def folder(path: Path) -> None:
    """A folder of our own. One that is a link leads elsewhere, and is refused."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(20, "is not a folder of its own", str(path)) from None


def writable(file: Path) -> bool:
    """Whether `replace` can be expected to work, asked before a long run."""
    if _is_stream(file):
        return os.access(file, os.W_OK)
    return not (file.is_dir() and not file.is_symlink()) and file.parent.is_dir() and os.access(file.parent, os.W_OK)


def _write(fresh: Path, data: bytes) -> None:
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


def _is_stream(file: Path) -> bool:
    """A device, a pipe or a socket, or a name for one."""
    if os.path.abspath(file).startswith(STREAMS):
        return True
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
