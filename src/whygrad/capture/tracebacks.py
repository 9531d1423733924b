"""Tracebacks as the user knows them: without the frames that whygrad put in between."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, TracebackType

from whygrad.capture import detours, frames

_ASKED, _ASKING = "__torch_function__", "handle_torch_function"


def trim(error: BaseException) -> None:
    """The exception, and all that belongs to it, is about to be shown."""
    for link in _chain(error):
        link.__traceback__ = _trimmed(link.__traceback__)


def led_to(escaped: BaseException | None, error: int) -> bool:
    """Whether the one with this identity is the exception that escaped, or what that was raised from."""
    while escaped is not None:
        if id(escaped) == error:
            return True
        escaped = escaped.__cause__ or escaped.__context__
    return False


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


def _trimmed(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    leading: TracebackType | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if detours.ours(code):
            leading = traceback
        elif leading is not None and detours.hides(code, leading.tb_frame.f_code):
            # The frame that led past us has the original's file and name.
            kept.append(TracebackType(None, leading.tb_frame, leading.tb_lasti, traceback.tb_lineno))
        elif not _between(code):
            kept.append(traceback)
        elif code.co_name == _ASKED and kept and kept[-1].tb_frame.f_code.co_name == _ASKING:
            del kept[-2:]  # A function that torch wrote in Python asked us from inside: it comes again below.
        traceback = traceback.tb_next
    out: TracebackType | None = None
    for entry in reversed(kept):
        out = TracebackType(out, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return out


def _between(code: CodeType) -> bool:
    return frames.kind_of_code(code) == frames.OWN or detours.ours(code)
