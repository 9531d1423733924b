"""Source lines with the cause underlined and labels beside it."""

from __future__ import annotations

import os

from rich.text import Text

from whygrad import visible
from whygrad.finding import Finding
from whygrad.report.styled import styled
from whygrad.report.words import inside
from whygrad.trace import Site

Sources = dict[str, dict[int, str]]


def snippet(finding: Finding, source: Sources, colour: str) -> list[Text]:
    """The primary place, then every labelled line of the same file in order, then other files."""
    if finding.site is None:
        return []
    marks = [(finding.site, finding.here, True)]
    marks += [(label.site, label.text, False) for label in finding.labels]
    gutter = len(str(max(site.line for site, _, _ in marks)))
    out = [_arrow("-->", finding.site, gutter), styled(" " * gutter + " |", style="blue")]
    out += _file([m for m in marks if m[0].file == finding.site.file], source, gutter, colour)
    others = dict.fromkeys(m[0].file for m in marks if m[0].file != finding.site.file)
    for file in others:
        mine = [m for m in marks if m[0].file == file]
        out += [_arrow(":::", mine[0][0], gutter), *_file(mine, source, gutter, colour)]
    return out


def _arrow(sign: str, site: Site, gutter: int) -> Text:
    place = f"{_relative(site.file)}:{site.line}:{site.col + 1}{inside(site)}"
    return styled((" " * gutter + sign + " ", "blue"), place)


def _relative(file: str) -> str:
    """Relative to where we are if that is shorter to read."""
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):  # Another drive, or the working directory is gone.
        return file
    return relative if not relative.startswith("..") else file


def _file(marks: list[tuple[Site, str, bool]], source: Sources, gutter: int, colour: str) -> list[Text]:
    out: list[Text] = []
    previous = 0
    for line in sorted({site.line for site, _, _ in marks}):
        text = source.get(marks[0][0].file, {}).get(line, "")
        if previous and line > previous + 1:
            out.append(styled("." * max(3, gutter), style="blue"))
        out.append(styled((f"{line:>{gutter}} | ", "blue"), text))
        for site, said, primary in sorted((m for m in marks if m[0].line == line), key=lambda m: not m[2]):
            out.append(_underline(site, said, primary, text, gutter, colour))
        previous = line
    return out


def _underline(site: Site, said: str, primary: bool, text: str, gutter: int, colour: str) -> Text:
    start, end = extent(site, text)
    sign = "^" if primary else "-"
    pad = "".join("\t" if c == "\t" else " " for c in visible.line(text)[:start])
    mark = f"{sign * max(1, end - start)} {said}"
    return styled((" " * gutter + " | ", "blue"), pad, (mark, colour if primary else "cyan"))


def extent(site: Site, text: str) -> tuple[int, int]:
    """Where the expression begins and ends in the line as it is shown; never beyond it, whatever the site says."""
    end = site.end_col if site.end_line in (0, site.line) else len(text.rstrip())
    return len(visible.line(text[: site.col])), len(visible.line(text[:end]))
