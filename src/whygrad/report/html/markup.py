"""Markup that cannot forget to escape: text is text unless it was made here."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable
from functools import cache, lru_cache
from html import escape
from typing import Any

from whygrad import visible

VOID = frozenset({"input", "meta", "br", "wbr", "col"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None | Iterable[Any]


@lru_cache(maxsize=4096)
def text(words: str) -> Markup:
    return Markup(escape(visible.block(words), quote=True))


def el(tag: str, *children: Child, **attributes: object) -> Markup:
    """An element. `cls` is class, `data_row` is data-row; None and False leave an attribute out, True is bare."""
    opening = "".join([_attribute(name, value) for name, value in attributes.items()])
    if tag in VOID:
        return Markup(f"<{tag}{opening}>")
    return Markup(f"<{tag}{opening}>{joined(children)}</{tag}>")


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f" {_name(name)}" if value is True else f' {_name(name)}="{text(str(value))}"'


@cache
def _name(attribute: str) -> str:
    return "class" if attribute == "cls" else attribute.rstrip("_").replace("_", "-")


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
    written = json.dumps(_seen(value), separators=(",", ":"), default=str)
    for sign in "<>&\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{text(name)}">{written}</script>')


def _seen(value: object) -> object:
    """The page's script puts these words on the screen."""
    if isinstance(value, str):
        return visible.block(value)
    if isinstance(value, dict):
        return {_seen(key): _seen(entry) for key, entry in value.items()}
    return [_seen(entry) for entry in value] if isinstance(value, (list, tuple)) else value


@cache
def digest(content: str) -> str:
    """How a content-security policy names exactly this script or style."""
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
