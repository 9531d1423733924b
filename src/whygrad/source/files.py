"""Source files, read once; what cannot be read is simply not shown."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache


@lru_cache(maxsize=256)
def lines(file: str) -> tuple[str, ...]:
    """The lines of a file without their ends; nothing if it cannot be read."""
    return tuple(line.rstrip("\r\n") for line in linecache.getlines(file))


@lru_cache(maxsize=64)
def tree(file: str) -> ast.Module | None:
    """The syntax tree of a file, if it parses."""
    try:
        return ast.parse("\n".join(lines(file)) + "\n")
    except (SyntaxError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=64)
def nodes(file: str) -> tuple[ast.AST, ...]:
    """Every node of a file, outer ones first: a walk takes as long as the parsing, so it is done once."""
    module = tree(file)
    return tuple(ast.walk(module)) if module is not None else ()


def characters(file: str, line: int, byte_column: int) -> int:
    """A column in characters; Python counts UTF-8 bytes."""
    text = line_at(file, line)
    if text.isascii():
        return byte_column
    return len(text.encode()[:byte_column].decode(errors="ignore"))


def line_at(file: str, line: int) -> str:
    found = lines(file)
    return found[line - 1] if 0 < line <= len(found) else ""


def remember(file: str, text: str) -> None:
    """Make source that is in no file (`-c`, a notebook cell) readable under a name."""
    linecache.cache[file] = (len(text), None, [f"{line}\n" for line in text.splitlines()], file)
    lines.cache_clear()
    tree.cache_clear()
    nodes.cache_clear()
