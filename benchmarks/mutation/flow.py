"""Where a value goes by differentiable steps, followed by name through assignments, calls and returns.

Attributes of `self` are shared by all functions, other names belong to theirs. What leaves autograd
(`detach`, `item`, sampling, comparisons, `no_grad`) ends the way, except for the one guard that is
`opened`, the one that a mutant takes away.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mutation.networks import guarded, is_region, networks, parts
from mutation.script import Script, dotted, leaf, method, pairs

_ENDS = {"detach", "item", "tolist", "numpy", "argmax", "sample", "multinomial", "state_dict", "parameters"}
_STORES = {"append", "insert", "extend", "appendleft"}
OPENED = "<opened>"
"""Read by what the guard kept from having a gradient."""
_FORWARD = "<forward>"
"""Read by what a network computes."""


@dataclass(frozen=True)
class Edge:
    statement: ast.stmt
    reads: frozenset[str]
    writes: frozenset[str]
    stores: bool = False
    """Whether the value is put into something that outlives the statement's function or loop."""


class Flow:
    def __init__(self, script: Script, opened: ast.AST | None = None) -> None:
        self.script = script
        self.opened = opened
        known = networks(script)
        self._networks = {"self", *(n.leaf for n in known), *(name for n in known for name, _ in parts(script, n))}
        self.functions = script.functions
        self.edges: list[Edge] = []
        for statement in script.nodes(ast.stmt):
            if not guarded(script, statement, opened):
                self._add(statement)
        if is_region(opened):
            self._open()

    def reads(self, node: ast.AST) -> frozenset[str]:
        """The names whose gradient would flow through an expression."""
        found: set[str] = set()
        if node is self.opened:
            found.add(OPENED)
        elif self._ends(node):
            return frozenset()
        if isinstance(node, ast.Name | ast.Attribute) and (key := self._key(node)) is not None:
            return frozenset(found | {key})
        if isinstance(node, ast.Call):
            if (called := self._called(node)) is not None:
                found.add(f"{called.name}()")
            if self._is_forward(node):
                found.add(_FORWARD)
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Subscript):
            children = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            children = [*node.args, *(k.value for k in node.keywords)]
        return frozenset(found.union(*map(self.reads, children)))

    def _ends(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            named = leaf(dotted(node.func) or method(node))
            return named in _ENDS and named not in self.functions
        return isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr == "data")

    def _key(self, node: ast.AST) -> str | None:
        """What a variable is known by: `self.hidden` everywhere, `update:loss` in one function."""
        name = dotted(node)
        if isinstance(node, ast.Attribute) and name == f"self.{node.attr}":
            return name
        function = self.script.function(node)
        return f"{function.name if function else ''}:{name}" if isinstance(node, ast.Name) else None

    def _is_forward(self, call: ast.Call) -> bool:
        name = dotted(call.func) or ""
        function = self.script.function(call)
        handed = function is not None and name in {a.arg for a in function.args.args}
        return handed or leaf(name) in self._networks

    def _written(self, target: ast.AST) -> frozenset[str]:
        if isinstance(target, ast.Tuple | ast.List):
            return frozenset[str]().union(*map(self._written, target.elts))
        if isinstance(target, ast.Subscript | ast.Starred):
            return self._written(target.value)
        key = self._key(target)
        return frozenset() if key is None else frozenset({key})

    def _called(self, call: ast.Call) -> ast.FunctionDef | None:
        return self.functions.get(leaf(dotted(call.func) or ""))

    def _add(self, statement: ast.stmt) -> None:
        for target, reads in self._flows(statement):
            stores = any(isinstance(t, ast.Subscript | ast.Attribute) for t in ast.walk(target))
            self._edge(statement, reads, self._written(target), stores)
        if isinstance(statement, ast.Return) and statement.value is not None:
            self._returned(statement, statement.value)
        for call in self.script.nodes(ast.Call, statement) if not _compound(statement) else []:
            if method(call) in _STORES and isinstance(call.func, ast.Attribute):
                stored = frozenset[str]().union(*map(self.reads, call.args))
                self._edge(statement, stored, self._written(call.func.value), stores=True)
            self._bind(statement, call)

    def _flows(self, statement: ast.stmt) -> list[tuple[ast.expr, frozenset[str]]]:
        """What is written by a statement, each with the names that it depends on."""
        if isinstance(statement, ast.For):
            return [(target, self.reads(value)) for target, value in _loop_pairs(statement)]
        if isinstance(statement, ast.AugAssign):
            return [(statement.target, self.reads(statement.value) | self.reads(statement.target))]
        found = []
        for target, value in pairs(statement):
            called = self._called(value) if isinstance(value, ast.Call) else None
            if isinstance(target, ast.Tuple) and called is not None:
                returned = enumerate(target.elts)
                found += [(part, frozenset({f"{called.name}()#{i}", f"{called.name}()#all"})) for i, part in returned]
            else:
                found.append((target, self.reads(value)))
        return found

    def _returned(self, statement: ast.Return, value: ast.expr) -> None:
        function = self.script.function(statement)
        assert function is not None
        elements = value.elts if isinstance(value, ast.Tuple) else [value]
        for index, element in enumerate(elements):
            part = str(index) if isinstance(value, ast.Tuple) else "all"
            writes = frozenset({f"{function.name}()", f"{function.name}()#{part}"})
            self._edge(statement, self.reads(element), writes)

    def _bind(self, statement: ast.stmt, call: ast.Call) -> None:
        """Arguments flow into the parameters of a function of this file."""
        called = self._called(call)
        if called is None:
            return
        parameters = [a.arg for a in called.args.args if a.arg != "self"]
        for index, argument in enumerate(call.args):
            into = parameters[index:] if isinstance(argument, ast.Starred) else parameters[index : index + 1]
            self._edge(statement, self.reads(argument), frozenset(f"{called.name}:{name}" for name in into))

    def _edge(self, statement: ast.stmt, reads: frozenset[str], writes: frozenset[str], stores: bool = False) -> None:
        if reads and writes:
            self.edges.append(Edge(statement, reads, writes, stores))

    def _open(self) -> None:
        """What a network computes in the opened region depends on the guard that was there."""
        computed, _ = self.computed()
        for at, edge in enumerate(self.edges):
            if edge.reads & computed and self.opened is not None and self.script.inside(edge.statement, self.opened):
                self.edges[at] = replace(edge, reads=edge.reads | {OPENED})

    def computed(self) -> tuple[set[str], list[Edge]]:
        """The names and edges that depend on a network's output."""
        return self.downstream({_FORWARD})

    def downstream(self, start: Iterable[str] = (OPENED,)) -> tuple[set[str], list[Edge]]:
        """The names that the start reaches, and the edges on the way."""
        reached, edges = set(start), list[Edge]()
        while fresh := [e for e in self.edges if e.reads & reached and e not in edges]:
            edges += fresh
            reached.update(*(e.writes for e in fresh))
        return reached, edges

    def upstream(self, names: Iterable[str], edges: Iterable[Edge] | None = None) -> list[ast.stmt]:
        """The statements that these names came from."""
        pool = list(self.edges if edges is None else edges)
        wanted, found = set(names), list[Edge]()
        while fresh := [e for e in pool if e.writes & wanted and e not in found]:
            found += fresh
            wanted.update(*(e.reads for e in fresh))
        return [e.statement for e in found]


def _loop_pairs(loop: ast.For) -> list[tuple[ast.expr, ast.expr]]:
    """`for a, b in zip(x, y)` pairs a with x and b with y."""
    target, walked = loop.target, loop.iter
    zipped = walked.args if isinstance(walked, ast.Call) and dotted(walked.func) == "zip" else []
    if isinstance(target, ast.Tuple) and len(target.elts) == len(zipped):
        return list(zip(target.elts, zipped, strict=True))
    return [(target, walked)]


def _compound(statement: ast.stmt) -> bool:
    return hasattr(statement, "body")
