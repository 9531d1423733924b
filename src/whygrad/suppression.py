"""Suppression comments: `# whygrad: ignore[WG103] -- reason`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from whygrad.catalogue import NAMES
from whygrad.finding import Finding
from whygrad.source import expressions, files
from whygrad.trace import Site

_COMMENT = re.compile(r"#\s*whygrad:\s*ignore(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)


@dataclass
class Comment:
    """One suppression comment and the codes it names."""

    site: Site
    codes: tuple[str, ...]
    used: set[str] = field(default_factory=set)


def comments(file: str) -> list[Comment]:
    """All suppression comments of a file; a file that does not tokenize has none."""
    out: list[Comment] = []
    text = "\n".join(files.lines(file)) + "\n"
    if "whygrad:" not in text:
        return out
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if found is not None:
                line, col = token.start
                codes = tuple(c.strip().upper() for c in (found["codes"] or "").split(",") if c.strip())
                out.append(Comment(Site(file, line, col, line, token.end[1]), codes))
    except (tokenize.TokenError, IndentationError):
        return out
    return out


def apply(findings: list[Finding], touched: Iterable[str], implemented: Iterable[str]) -> list[Finding]:
    """Mark suppressed findings and add what is wrong with the comments themselves."""
    known = {file: comments(file) for file in sorted(set(touched))}
    for finding in findings:
        for comment in _covering(finding, known):
            if not comment.codes or finding.code in comment.codes:
                finding.suppressed = True
                comment.used.add(finding.code)
    checked = set(implemented)
    return [f for found in known.values() for comment in found for f in _about(comment, checked)]


def _covering(finding: Finding, known: dict[str, list[Comment]]) -> Iterator[Comment]:
    """Comments on the primary line, or anywhere on the statement around it."""
    if finding.site is None:
        return
    statement = expressions.statement(finding.site)
    first, last = finding.site.line, finding.site.end_line or finding.site.line
    if statement is not None and not hasattr(statement, "body"):
        first, last = statement.lineno, statement.end_lineno or statement.lineno
    for comment in known.get(finding.site.file, ()):
        if first <= comment.site.line <= last:
            yield comment


def _about(comment: Comment, implemented: set[str]) -> Iterator[Finding]:
    if not comment.codes:
        yield Finding(
            "WG001",
            NAMES["WG001"],
            "warning",
            "this comment silences whatever whygrad finds on its line, now and later",
            comment.site,
            "names no code",
            fix="name what is meant: # whygrad: ignore[WG103] -- reason",
        )
    for code in comment.codes:
        if code not in NAMES:
            yield unknown_code(code, comment.site, "this comment")
        elif code in implemented and code not in comment.used:
            yield Finding(
                "WG002",
                NAMES["WG002"],
                "note",
                f"ignore[{code}] suppressed nothing in this run",
                comment.site,
                "not needed here",
                fix="delete the comment if the pattern is gone",
            )


def unknown_code(code: str, site: Site | None, where: str) -> Finding:
    return Finding(
        "WG003",
        NAMES["WG003"],
        "warning",
        f"{where} names {code}, which does not exist",
        site,
        "no such code",
        fix="see `whygrad rules` for the catalogue",
    )
