"""Where whygrad speaks: stderr, with colour only where it is wanted."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console


def console(color: str, stream: TextIO | None = None) -> Console:
    """`auto` follows the terminal, NO_COLOR and FORCE_COLOR."""
    forced = True if color == "always" or (color == "auto" and os.environ.get("FORCE_COLOR")) else None
    off = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
    return Console(
        file=stream or sys.stderr,
        force_terminal=forced,
        no_color=off,
        color_system=None if off else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )


def complain(message: str) -> int:
    """One line on stderr; the status of a usage error."""
    print(f"whygrad: {message}", file=sys.stderr)
    return 2
