"""Writing a mutant: small text edits on a script, with marks for the lines where a finding is fair."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from mutation.script import Script

_MARK = re.compile("\ue000(WG\\d{3})\ue001")
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript)


@dataclass(frozen=True)
class Mutant:
    """A script with one bug put in."""

    operator: str
    source: str
    expected: Mapping[str, frozenset[int]]
    """The codes that are a right answer, each with the lines that its primary span may start on."""
    line: int
    """Where the first edit was made."""
    moves_weights: bool = True
    """False when the bug shows elsewhere than in the weights, in memory for instance."""


@dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str


def mark(code: str) -> str:
    """Put in front of new text: a finding with this code is fair on that line."""
    return f"\ue000{code}\ue001"


class Draft:
    """Edits on one script that are applied together; no two may touch the same characters."""

    def __init__(self, script: Script, moves_weights: bool = True) -> None:
        self.script = script
        self.moves_weights = moves_weights
        self.possible = True
        """False when an edit needs whole lines and the statement shares its line with others."""
        self._edits: list[_Edit] = []

    def fair(self, code: str, *nodes: ast.AST) -> None:
        """A finding with this code may point at any of these nodes, which stay where they are."""
        for node in nodes:
            start = self.script.span(node)[0]
            if (edit := _Edit(start, start, mark(code))) not in self._edits:
                self._edits.append(edit)

    def replace(self, node: ast.AST, text: str) -> None:
        self.cut(*self.script.span(node), text)

    def cut(self, start: int, end: int, text: str = "") -> None:
        self._edits.append(_Edit(start, end, text))

    def suffix(self, node: ast.expr, text: str) -> None:
        """Append `.detach()` or the like to an expression."""
        start, end = self.script.span(node)
        if isinstance(node, _ATOMS):
            self.cut(end, end, text)
        else:
            self.cut(start, start, "(")
            self.cut(end, end, f"){text}")

    def unsuffix(self, call: ast.Call) -> None:
        """Drop the last method call of a chain: `x.detach()` becomes `x`."""
        assert isinstance(call.func, ast.Attribute)
        named = self.script.span(call.func)[1]
        self.cut(named - len(call.func.attr) - 1, self.script.span(call)[1])

    def before(self, statement: ast.stmt, text: str) -> None:
        start, _ = self._whole_lines(statement)
        self.cut(start, start, self._indented(statement, text))

    def after(self, statement: ast.stmt, text: str) -> None:
        _, end = self._whole_lines(statement)
        self.cut(end, end, self._indented(statement, text))

    def _whole_lines(self, statement: ast.stmt) -> tuple[int, int]:
        start, end = self.script.lines(statement)
        first, last = self.script.span(statement)
        before = self.script.source[start:first].rpartition("\n")[2].strip()
        after = self.script.source[last:end].strip()
        self.possible &= not before and (not after or after.startswith("#"))
        return start, end

    def _indented(self, statement: ast.stmt, text: str) -> str:
        return textwrap.indent(text, " " * statement.col_offset, lambda _: True) + "\n"

    def drop(self, statement: ast.stmt) -> None:
        """Delete a statement; one that is alone in its block leaves a `pass`."""
        if len(self.script.block(statement)) == 1:
            self.replace(statement, "pass")
        else:
            self.cut(*self._whole_lines(statement))

    def copied(self, statement: ast.stmt) -> str:
        """The text of a statement without its indentation."""
        start, end = self.script.lines(statement)
        return textwrap.dedent(self.script.source[start:end]).rstrip("\n")

    def move_before(self, statement: ast.stmt, other: ast.stmt, code: str) -> None:
        self.drop(statement)
        self.before(other, mark(code) + self.copied(statement))

    def move_after(self, statement: ast.stmt, other: ast.stmt, code: str) -> None:
        self.drop(statement)
        self.after(other, mark(code) + self.copied(statement))

    def wrap(self, statement: ast.stmt, header: str) -> None:
        """Put a statement under a new `with` or `if` line."""
        start, end = self.script.lines(statement)
        self.before(statement, header)
        for line in _line_starts(self.script.source, start, end):
            self.cut(line, line, "    ")

    def unwrap(self, statement: ast.With) -> None:
        """Drop a `with` line and move its body to the left."""
        body_start = self.script.lines(statement.body[0])[0]
        start, end = self.script.lines(statement)
        self.cut(start, body_start)
        width = statement.body[0].col_offset - statement.col_offset
        for line in _line_starts(self.script.source, body_start, end):
            if self.script.source[line : line + width].isspace():
                self.cut(line, line + width)

    def mutant(self, operator: str) -> Mutant:
        source, expected = _stripped(_applied(self.script.source, self._edits))
        ast.parse(source)
        first = min(edit.start for edit in self._edits if not _MARK.fullmatch(edit.text))
        return Mutant(operator, source, expected, self.script.source.count("\n", 0, first) + 1, self.moves_weights)


def _line_starts(source: str, start: int, end: int) -> list[int]:
    return [start, *(at + 1 for at in range(start, end - 1) if source[at] == "\n" and source[at + 1] != "\n")]


def _applied(source: str, edits: list[_Edit]) -> str:
    """Edits in the order of their place; at one place insertions come first, as they were made."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end > e.start, bool(_MARK.fullmatch(e.text)))):
        if edit.start < at:
            raise ValueError(f"two edits overlap at offset {edit.start}")
        parts += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, source[at:]])


def _stripped(marked: str) -> tuple[str, dict[str, frozenset[int]]]:
    """The source without its marks, and the lines that they stood on."""
    expected: dict[str, frozenset[int]] = {}
    for number, line in enumerate(marked.split("\n"), 1):
        for code in _MARK.findall(line):
            expected[code] = expected.get(code, frozenset()) | {number}
    return _MARK.sub("", marked), expected
