"""Python source, coloured line by line and marked where a finding points."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

from whygrad import visible
from whygrad.report.html.markup import Markup, text

_TOKEN = re.compile(
    r"""(?P<comment>\#.*)
    |(?P<triple>(?:\b[rbfuRBFU]{1,2})?(?P<quotes>'''|\"\"\"))
    |(?P<string>(?:\b[rbfuRBFU]{1,2})?(?:'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?))
    |(?P<number>\b\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?\b)
    |(?P<name>[^\W\d]\w*)""",
    re.VERBOSE,
)
_WORDS = frozenset(keyword.kwlist) | {"self", "cls"}
LONGEST = 400
"""Characters of a line; data that somebody pasted into a script is not read."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a line, and the class it is shown in."""

    start: int
    end: int
    cls: str


class Highlighter:
    """Remembers from line to line whether a long string is open."""

    def __init__(self) -> None:
        self._open = ""

    def line(self, source: str, marks: tuple[Span, ...] = ()) -> Markup:
        shown = source if len(source) <= LONGEST else source[: LONGEST - 1] + "…"
        return _woven(shown, list(self._tokens(shown)), marks)

    def _tokens(self, line: str) -> Iterator[Span]:
        place = 0
        while place < len(line):
            if self._open:
                end = line.find(self._open, place)
                stop = end + 3 if end >= 0 else len(line)
                yield Span(place, stop, "s")
                self._open = "" if end >= 0 else self._open
                place = stop
                continue
            found = _TOKEN.search(line, place)
            if found is None:
                return
            place = found.end()
            if found["triple"]:
                self._open = found["quotes"]
                yield Span(found.start(), place, "s")
            elif found["comment"]:
                yield Span(found.start(), place, "c")
            elif found["string"]:
                yield Span(found.start(), place, "s")
            elif found["number"]:
                yield Span(found.start(), place, "n")
            elif found["name"] in _WORDS:
                yield Span(found.start(), place, "k")


def _woven(line: str, tokens: list[Span], marks: tuple[Span, ...]) -> Markup:
    """Both layers at once, cut wherever one of them begins or ends."""
    edges = sorted({0, len(line), *(e for s in (*tokens, *marks) for e in (s.start, s.end) if 0 <= e <= len(line))})
    out: list[str] = []
    for start, end in itertools.pairwise(edges):
        piece: str = text(visible.line(line[start:end]))
        colour = next((t.cls for t in tokens if t.start <= start and end <= t.end), "")
        if colour:
            piece = f'<i class="{colour}">{piece}</i>'
        for mark in marks:
            if mark.start <= start and end <= mark.end:
                piece = f'<mark class="{mark.cls}">{piece}</mark>'
        out.append(piece)
    return Markup("".join(out))
