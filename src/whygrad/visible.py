"""Text from outside, shown as what it holds: no terminal obeys it, no reader is misled by what cannot be seen.

Source lines, names, paths and stored reports may hold anything. What a terminal takes as a command (C0, C1), what turns
the direction of writing, and what takes no room at all is written as Python would write it in a string.
"""

from __future__ import annotations

import re

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # Controls, but for the tab and the newline.
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # The direction of writing, and ends of lines by another name.
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb"  # Marks for other programs.
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"  # Halves of characters: no file and no stream can hold them.
)
_IN_BLOCKS = re.compile(f"[{_UNSEEN}]")
_IN_LINES = re.compile(f"[{_UNSEEN}\n]")
_SHORT = {"\n": r"\n", "\r": r"\r"}


def block(text: str) -> str:
    """Several lines: newlines and tabs are layout."""
    return _IN_BLOCKS.sub(_escape, text)


def line(text: str) -> str:
    """One line: a newline in a name must not make two of it."""
    return _IN_LINES.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    number = ord(sign)
    if sign in _SHORT:
        return _SHORT[sign]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
