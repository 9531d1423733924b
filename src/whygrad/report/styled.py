"""Lines for a terminal. Only here do words become rich's text, so that no name can bring commands of its own along."""

from __future__ import annotations

from rich.text import Text

from whygrad import visible


def styled(*parts: str | tuple[str, str], style: str = "") -> Text:
    """One line of words, some of them with a style."""
    seen = [visible.line(part) if isinstance(part, str) else (visible.line(part[0]), part[1]) for part in parts]
    return Text.assemble(*seen, style=style)
