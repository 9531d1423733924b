"""Frames to stand a script on, in the place of ours.

Under `python` nothing lies below a script, and what reaches deeper is said to come from `sys`: a warning that names
its caller's caller in particular. So below the script lie frames of that file and with those globals.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType

from whygrad.capture import standins

DEPTH = 10
"""Frames that a warning may count through."""


def run(code: CodeType, names: dict[str, object]) -> None:
    """`exec`, from the ground up."""
    below = _step.__code__.replace(co_filename="sys", co_firstlineno=1, co_qualname=standins.NAME)
    step = FunctionType(below, vars(sys))
    step(step, DEPTH - 1, exec, code, names)


# fmt: off
def _step(step, left, execute, code, names): step(step, left - 1, execute, code, names) if left else execute(code, names)  # type: ignore[no-untyped-def]  # noqa: E501
# fmt: on
