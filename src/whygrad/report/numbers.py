"""Numbers as people read them, the same in the terminal and on the page."""

from __future__ import annotations


def number(value: float | None) -> str:
    return f"{value:.3g}" if value is not None else "–"


def percent(share: float | None) -> str:
    return f"{share:.0%}" if share is not None else "–"


def fine_percent(share: float) -> str:
    return f"{share:.1%}"


def shape(sizes: tuple[int, ...] | list[int]) -> str:
    return "×".join(str(size) for size in sizes) or "scalar"


def duration(seconds: float) -> str:
    """`0.8 s`, `42 s`, `3:07 min`, `2:05 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    return f"{minutes}:{int(seconds) % 60:02} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02} h"
