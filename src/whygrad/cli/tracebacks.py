"""Tracebacks as the user knows them: without the frames that whygrad put in between."""

from __future__ import annotations

import sys
import traceback as formatting
from collections.abc import Iterator
from types import TracebackType

from whygrad.about import HOME
from whygrad.capture import standins

_AROUND = ("<frozen runpy>",)


def show(error: BaseException, *, full: bool) -> None:
    """Print the exception through the hook in force, as the interpreter would."""
    chain = [] if full else list(_chain(error))
    originals = [(link, link.__traceback__) for link in chain]
    for link in chain:
        link.__traceback__ = trimmed(link.__traceback__)
    try:
        _through_the_hook(error)
    finally:
        for link, original in originals:
            link.__traceback__ = original


def _through_the_hook(error: BaseException) -> None:
    try:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    except BaseException as second:
        # What Python does about a hook that fails. A stderr that is gone takes this along too.
        stream = sys.__stderr__
        if stream is not None and not stream.closed:
            print("Error in sys.excepthook:", file=stream)
            formatting.print_exception(type(second), second, trimmed(second.__traceback__), file=stream)
            print("\nOriginal exception was:", file=stream)
            formatting.print_exception(error, file=stream)
            stream.flush()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the members of groups."""
    stack, seen = [error], {id(error)}
    while stack:
        link = stack.pop()
        yield link
        members = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        for following in (link.__cause__, link.__context__, *members):
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                stack.append(following)


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without whygrad's frames and without what it started the script with."""
    kept: list[TracebackType] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        if not file.startswith(HOME) and file not in _AROUND and code.co_name != standins.NAME:
            kept.append(traceback)
        traceback = traceback.tb_next
    out: TracebackType | None = None
    for entry in reversed(kept):
        out = TracebackType(out, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return out
