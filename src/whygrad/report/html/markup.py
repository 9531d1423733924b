"""Markup that cannot forget to escape: text is text unless it was made here."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset({"input", "meta", "br", "wbr", "col"})
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What HTML does not allow, and what turns the direction of writing: names may hold anything."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None | Iterable[Any]


def text(words: str) -> Markup:
    return Markup(escape(_CONTROLS.sub("�", words), quote=True))


def el(tag: str, *children: Child, **attributes: object) -> Markup:
    """An element. `cls` is class, `data_row` is data-row; None and False leave an attribute out, True is bare."""
    opening = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{opening}>")
    return Markup(f"<{tag}{opening}>{joined(children)}</{tag}>")


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    shown = "class" if name == "cls" else name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{text(str(value))}"'


def joined(children: Iterable[Any]) -> Markup:
    out: list[str] = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Markup):
            out.append(child)
        elif isinstance(child, str):
            out.append(text(child))
        else:
            out.append(joined(child))
    return Markup("".join(out))


def data(name: str, value: object) -> Markup:
    """Data for the page's own script, in a form that no text inside can break out of."""
    written = json.dumps(value, separators=(",", ":"), default=str)
    for sign in "<>&\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{text(name)}">{written}</script>')


def digest(content: str) -> str:
    """How a content-security policy names exactly this script or style."""
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
