"""The same script with more updates: its update loop, found by its syntax, runs so many times as long.

No line is added or moved, so findings can be compared by their lines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Loop = ast.For | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
COUNTING = ("range", "trange")
OTHER_COUNTS = ("seed", "agent")
"""What a loop counts that is around the training."""


@dataclass(frozen=True)
class Change:
    """Text at a place in a file, and what it becomes."""

    line: int
    start: int
    end: int
    text: str


@dataclass
class Program:
    """The files of one script, by name, with the functions that train somewhere in them."""

    entry: str
    sources: dict[str, str]
    trees: dict[str, ast.Module] = field(default_factory=dict)
    training: set[str] = field(default_factory=set)
    """Names of functions and classes that come to a backward or a step."""

    def __post_init__(self) -> None:
        self.trees = {name: ast.parse(text) for name, text in self.sources.items()}
        grown = True
        while grown:
            fresh = {name for name, node in self.definitions() if name not in self.training and self.trains(node)}
            self.training |= fresh
            grown = bool(fresh)

    def definitions(self) -> Iterator[tuple[str, ast.AST]]:
        """Functions by name; a class's constructor also by the class's."""
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    yield node.name, node
                elif isinstance(node, ast.ClassDef):
                    made = [n for n in node.body if isinstance(n, Function) and n.name == "__init__"]
                    yield from ((node.name, constructor) for constructor in made)

    def trains(self, node: ast.AST) -> bool:
        return any(_updates(inner) or _name(inner) in self.training for inner in ast.walk(node))


def read(folder: Path, script: str) -> dict[str, str]:
    """A script of a folder with the files beside it, by name."""
    others = {"bad.py", "good.py"} - {script}
    files = [file for file in folder.glob("*.py") if file.name not in others]
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def lengthened(program: Program, times: int) -> Iterator[dict[str, str]]:
    """The files with a longer update loop, the outermost first; nothing where no loop can be lengthened."""
    for name, loop in _loops(program):
        changes = _changes(program, name, loop, times)
        if changes:
            yield {file: _edited(program.sources[file], made) for file, made in changes.items()}


def _updates(node: ast.AST) -> bool:
    """`loss.backward()`, `optimizer.step()` (an environment's takes an action), `autograd.grad(...)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    called = node.func.attr
    bare = called == "step" and not node.args and not node.keywords
    return called == "backward" or bare or (called == "grad" and len(node.args) > 1)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _loops(program: Program) -> Iterator[tuple[str, Loop]]:
    """Loops that train, outermost first, from the script's own top level into the functions it calls."""
    entered: set[str] = set()
    queue: list[tuple[str, list[ast.stmt]]] = [(program.entry, program.trees[program.entry].body)]
    while queue:
        file, body = queue.pop(0)
        for node in _outside_definitions(body):
            if isinstance(node, Loop) and program.trains(node):
                yield file, node
            called = _name(node)
            if called in program.training and called not in entered:
                entered.add(called)
                queue.extend(_bodies(program, called))


def _outside_definitions(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Breadth first: an outer loop comes before what is in it."""
    queue: list[ast.AST] = [n for n in body if not isinstance(n, DEFINITION)]
    while queue:
        node = queue.pop(0)
        yield node
        queue.extend(n for n in ast.iter_child_nodes(node) if not isinstance(n, DEFINITION))


def _bodies(program: Program, called: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    for file, tree in program.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, Function) and node.name == called:
                yield file, node.body
            elif isinstance(node, ast.ClassDef) and node.name == called:
                yield from ((file, n.body) for n in node.body if isinstance(n, Function) and n.name == "__init__")


def _changes(program: Program, file: str, loop: Loop, times: int) -> dict[str, list[Change]]:
    """The length where it is written down, so that schedules which follow it stay in step; else at the loop."""
    length = _length(loop)
    if length is None:
        return {}
    if isinstance(length, ast.Constant):
        return {file: [_multiplied(length, times)]} if _whole(length) else {}
    found = {name: _bound(tree, _key(length)) for name, tree in program.trees.items()} if _key(length) else {}
    changes = {name: [_multiplied(constant, times) for constant in places] for name, places in found.items() if places}
    if changes or length.lineno != length.end_lineno:
        return changes
    return {file: [_wrapped(program.sources[file], length, times)]}


def _length(loop: Loop) -> ast.expr | None:
    if isinstance(loop, ast.While):
        test = loop.test
        below = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Lt, ast.LtE))
        return test.comparators[0] if below and isinstance(test, ast.Compare) else None
    target = loop.target.id if isinstance(loop.target, ast.Name) else ""
    call = loop.iter
    while isinstance(call, ast.Call) and _name(call.func) not in COUNTING and call.args:
        inner = call.args[0]  # `tqdm(range(40))`
        if not isinstance(inner, ast.Call):
            return None
        call = inner
    if not isinstance(call, ast.Call) or not call.args or any(target.startswith(word) for word in OTHER_COUNTS):
        return None
    return call.args[min(1, len(call.args) - 1)]


def _key(length: ast.expr) -> str:
    """What the length is called: `UPDATES`, `cfg.updates`, `cfg["updates"]`."""
    if isinstance(length, ast.Subscript) and isinstance(length.slice, ast.Constant):
        return str(length.slice.value)
    return _name(length)


def _bound(tree: ast.Module, key: str) -> list[ast.Constant]:
    """Whole numbers that are given this name: assigned, as a default, at a call, in a mapping, on a command line."""
    found: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found += [node.value for target in node.targets if _name(target) == key]
        elif isinstance(node, ast.AnnAssign):
            found += [node.value] if _name(node.target) == key else []
        elif isinstance(node, Function):
            found += _defaults(node, key) + _positional(tree, node, key)
        elif isinstance(node, ast.Call):
            found += [k.value for k in node.keywords if k.arg == key] + _option(node, key)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            found += [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == key]
    places = {(n.lineno, n.col_offset): n for n in found if isinstance(n, ast.Constant) and _whole(n)}
    return list(places.values())


def _defaults(function: Function, key: str) -> list[ast.expr | None]:
    given = function.args
    plain = given.posonlyargs + given.args
    pairs = [*zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=True)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [default for argument, default in (*pairs, *named) if argument.arg == key]


def _positional(tree: ast.Module, function: Function, key: str) -> list[ast.expr | None]:
    """What calls hand to a parameter by its position."""
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    if key not in names:
        return []
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n.func) == function.name)
    return [call.args[names.index(key)] for call in calls if len(call.args) > names.index(key)]


def _option(call: ast.Call, key: str) -> list[ast.expr | None]:
    """`parser.add_argument("--updates", type=int, default=40)`"""
    flags = [str(a.value).lstrip("-").replace("-", "_") for a in call.args if isinstance(a, ast.Constant)]
    if _name(call.func) != "add_argument" or key not in flags:
        return []
    return [keyword.value for keyword in call.keywords if keyword.arg == "default"]


def _whole(constant: ast.Constant) -> bool:
    return type(constant.value) is int and constant.value > 0


def _multiplied(constant: ast.Constant, times: int) -> Change:
    assert isinstance(constant.value, int)
    return Change(constant.lineno, constant.col_offset, constant.end_col_offset or 0, str(constant.value * times))


def _wrapped(source: str, length: ast.expr, times: int) -> Change:
    """A length that is worked out, made longer where the loop asks for it."""
    written = ast.get_source_segment(source, length) or ""
    return Change(length.lineno, length.col_offset, length.end_col_offset or 0, f"({written}) * {times}")


def _edited(source: str, changes: list[Change]) -> str:
    lines = [line.encode() for line in source.splitlines(keepends=True)]  # Syntax trees count bytes.
    for change in sorted(set(changes), key=lambda c: (c.line, c.start), reverse=True):
        line = lines[change.line - 1]
        lines[change.line - 1] = line[: change.start] + change.text.encode() + line[change.end :]
    return b"".join(lines).decode()
