"""What can be read off an exception that ended the run."""

from __future__ import annotations

import ast

from whygrad.capture import frames
from whygrad.source import expressions, positions
from whygrad.trace.escape import Escape
from whygrad.trace.site import Site

LONGEST = 200
"""Characters of an exception's text that are repeated."""
NOTHING = "NoneType"
"""How Python's own messages speak of None."""


def meant(error: BaseException) -> bool:
    """Whether nothing is wrong: Ctrl-C, a generator that is not gone through to its end, `sys.exit()`."""
    return isinstance(error, (KeyboardInterrupt, GeneratorExit)) or (isinstance(error, SystemExit) and not error.code)


def described(error: BaseException) -> Escape:
    site, said = _site(error), _said(error)
    first = next(iter(said.splitlines()), "")[:LONGEST]
    kind = type(error).__name__
    absent = _gradient(site, said) if isinstance(error, (TypeError, AttributeError)) and NOTHING in said else ""
    return Escape(f"{kind}: {first}" if first else kind, site, absent)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # The script's own words for it may fail; Python says so in their place.
        return ""


def _site(error: BaseException) -> Site | None:
    """Where the innermost frame of the user's was."""
    found, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if frames.kind_of_code(code) == frames.USER:
            found = code, traceback.tb_lasti
        traceback = traceback.tb_next
    return positions.resolve(*found) if found is not None else None


def _gradient(site: Site | None, said: str) -> str:
    """The `.grad` that must have been None; empty where something else may have been."""
    node = expressions.at(site) if site is not None else None
    blamed: ast.expr | None = None
    if isinstance(node, ast.UnaryOp):
        blamed = node.operand
    elif isinstance(node, (ast.Attribute, ast.Subscript)):
        blamed = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        alone = len(node.args) == 1 and not node.keywords
        blamed = node.args[0] if alone and "argument" in said else node.func.value
    elif isinstance(node, ast.BinOp):  # `unsupported operand type(s) for *: 'float' and 'NoneType'`
        blamed = node.right if said.endswith(f"'{NOTHING}'") else node.left
    return ast.unparse(blamed) if isinstance(blamed, ast.Attribute) and blamed.attr == "grad" else ""
