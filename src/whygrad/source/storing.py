"""The statement that puts a value under a name, read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from whygrad.source import expressions, files
from whygrad.source.feeding import STORING
from whygrad.source.scopes import last_name, own, scopes
from whygrad.trace.site import Site

FRESH = frozenset({"zeros", "zeros_like", "new_zeros", "ones", "ones_like", "full", "empty", "randn", "rand"})


def stored(files_: list[str], holder: str) -> Site | None:
    """Where `memory.items[]['action']` or `self.hidden` gets what it holds; outside `__init__` if anywhere."""
    keys = re.findall(r"\['(\w+)'\]", holder)
    if keys:
        under = _under_key(files_, keys[-1])
        if under is not None:
            return under
    base = holder.split("[", 1)[0]
    name, inside = base.rsplit(".", 1)[-1], "[" in holder
    for file in files_:
        module = files.tree(file)
        found = list(_statements(module, name, inside)) if module is not None else []
        if inside and not found and module is not None and "." in base:
            anew = (pair for pair in _statements(module, name, False) if not pair[0])  # `self.posts = list(…)`
            found = [(setup, node) for setup, node in anew if _sets_attribute(node, name)]
        if found:
            attribute = "." in base
            rank = {n: (_anew(n), setup, attribute and not _sets_attribute(n, name)) for setup, n in found}
            node = min(rank, key=rank.__getitem__)
            return Site(*expressions.span(file, node))
    return None


def _sets_attribute(node: ast.AST, name: str) -> bool:
    """Whether the name is one of an object's here: a local variable of the same name does not live on."""
    places = [*getattr(node, "targets", ()), getattr(node, "target", None), getattr(node, "func", None)]
    parts = (part for place in places if place is not None for part in ast.walk(place))
    return any(isinstance(part, ast.Attribute) and part.attr == name for part in parts)


def _under_key(files_: list[str], key: str) -> Site | None:
    """Where a value is given that name: `dict(key=…)`, `{"key": …}`, `store(key=…)`, `row["key"] = …`."""
    for file in files_:
        module = files.tree(file)
        for node in ast.walk(module) if module is not None else ():
            value: ast.expr | None = None
            if isinstance(node, ast.keyword) and node.arg == key:
                value = node.value
            elif isinstance(node, ast.Dict):
                named = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
                value = node.values[named.index(key)] if key in named else None
            elif isinstance(node, ast.Assign) and any(_is_key(target, key) for target in node.targets):
                value = node.value
            if value is not None and not isinstance(value, ast.Constant):
                return Site(*expressions.span(file, value))
    return None


def _is_key(target: ast.expr, key: str) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == key


def _statements(module: ast.Module, name: str, inside: bool) -> Iterator[tuple[bool, ast.AST]]:
    """Statements that store under the name, each with whether it only sets things up."""
    for called, function in scopes(module):
        setup = called == "__init__"
        for node in own(function):
            if inside and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in STORING and last_name(node.func.value) == name:
                    yield setup, node
            elif isinstance(node, ast.Assign):
                if not isinstance(node.value, ast.Constant) and any(_into(t, name, inside) for t in node.targets):
                    yield setup, node
            elif isinstance(node, ast.AugAssign) and last_name(node.target) == name:
                yield setup, node


def _anew(node: ast.AST) -> bool:
    """Whether what it stores is new and so has no history: `self.hidden = torch.zeros(…)`."""
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Call) and last_name(value.func) in FRESH


def _into(target: ast.expr, name: str, inside: bool) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    subscripts = [part.value for part in parts if isinstance(part, ast.Subscript)]
    return any(last_name(part) == name for part in (subscripts if inside else [*parts, *subscripts]))


def entered(files_: list[str], path: str) -> Site | None:
    """Where `agent.target` or `nets['target']` gets its value; an entry may be put there with the whole container."""
    entry = assigned(files_, path) if path.endswith("]") else None
    return entry or assigned(files_, path.split("[")[0].rsplit(".", 1)[-1])


def assigned(files_: list[str], name: str) -> Site | None:
    """Where a name, attribute or entry gets its value: the right-hand side that belongs to it and makes nothing new."""
    found: list[tuple[str, ast.expr]] = []
    for file in files_:
        module = files.tree(file)
        statements = (node for node in ast.walk(module) if isinstance(node, ast.Assign)) if module is not None else ()
        values = [_matching(target, node.value, name) for node in statements for target in node.targets]
        found += [(file, value) for value in values if value is not None]
    passing = [place for place in found if isinstance(place[1], (ast.Name, ast.Attribute, ast.Subscript))]
    file, value = next(iter(passing or found), ("", None))
    return Site(*expressions.span(file, value)) if value is not None else None


def _matching(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for part, item in zip(target.elts, value.elts, strict=True):
                if last_name(part) == name:
                    return item
        return value if any(last_name(part) == name for part in target.elts) else None
    if isinstance(target, ast.Subscript):
        return value if ast.unparse(target).removeprefix("self.") == name else None
    return value if last_name(target) == name else None
