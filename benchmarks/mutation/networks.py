"""Which names are networks, which are copies of others, who calls them, and which optimizers hold them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from mutation.script import Script, dotted, leaf, method, pairs, receiver

_REGIONS = ("no_grad", "inference_mode")


@dataclass(frozen=True)
class Network:
    """A name that holds a module, as it is assigned (`self.q_net`), and the expression that built it."""

    name: str
    built: ast.expr
    statement: ast.stmt

    @property
    def leaf(self) -> str:
        return leaf(self.name)


@dataclass(frozen=True)
class Optimizer:
    name: str
    call: ast.Call
    statement: ast.stmt
    holds: tuple[str, ...]
    """The leaf names of the networks in its arguments."""

    @property
    def leaf(self) -> str:
        return leaf(self.name)


@cache
def module_classes(script: Script) -> dict[str, ast.ClassDef]:
    classes = script.nodes(ast.ClassDef)
    return {c.name: c for c in classes if any((dotted(base) or "").endswith("Module") for base in c.bases)}


def parts(script: Script, network: Network) -> list[tuple[str, bool]]:
    """The attributes that a network's class assigns in `__init__`, each with whether it is a bare parameter."""
    named = dotted(network.built.func) if isinstance(network.built, ast.Call) else None
    owner = module_classes(script).get(named or "")
    if owner is None:
        return []
    found = []
    for statement in script.nodes(ast.Assign, owner):
        for target, value in pairs(statement):
            built = leaf(dotted(value.func) or "") if isinstance(value, ast.Call) else ""
            if (dotted(target) or "").startswith("self.") and built[:1].isupper():
                found.append((leaf(dotted(target) or ""), built == "Parameter"))
    return found


@cache
def networks(script: Script) -> list[Network]:
    """Names outside module classes that are assigned a module, in the order of the text."""
    classes = module_classes(script)
    found: list[Network] = []
    for statement in script.nodes(ast.Assign):
        if any(a in classes.values() for a in script.ancestors(statement)):
            continue
        for target, value in pairs(statement):
            name = dotted(target)
            if name is not None and (_builds(script, value) or deep_copied(value)):
                found.append(Network(name, value, statement))
    return found


def _builds(script: Script, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = dotted(value.func) or ""
    if name in module_classes(script):
        return True
    if name in script.functions:
        returned = [r.value for r in script.nodes(ast.Return, script.functions[name])]
        return any(r is not None and _is_torch_module(r) for r in returned)
    return _is_torch_module(value)


def _is_torch_module(value: ast.expr) -> bool:
    name = (dotted(value.func) or "") if isinstance(value, ast.Call) else ""
    last = leaf(name)
    return "nn." in name and last[:1].isupper() and not last.endswith("Loss") and last != "Parameter"


def deep_copied(value: ast.expr) -> str | None:
    """The name that a `copy.deepcopy(...)` copies."""
    if isinstance(value, ast.Call) and leaf(dotted(value.func) or "") == "deepcopy" and value.args:
        return dotted(value.args[0])
    return None


def loaded_from(call: ast.AST) -> tuple[str, str] | None:
    """`(target, online)` for `target.load_state_dict(online.state_dict())`."""
    if isinstance(call, ast.Call) and method(call) == "load_state_dict" and method(call.args[0]) == "state_dict":
        source = call.args[0]
        assert isinstance(source, ast.Call)
        return dotted(receiver(call)) or "", dotted(receiver(source)) or ""
    return None


@cache
def copies(script: Script) -> dict[str, str]:
    """Copy by leaf name, with the dotted name of the network it was copied from."""
    found = {n.leaf: source for n in networks(script) if (source := deep_copied(n.built))}
    for call in script.nodes(ast.Call):
        if (pair := loaded_from(call)) and pair[0] and pair[1]:
            found.setdefault(leaf(pair[0]), pair[1])
    return found


@cache
def optimizers(script: Script) -> list[Optimizer]:
    known = {n.leaf for n in networks(script)}
    found = []
    for statement in script.nodes(ast.Assign):
        for target, value in pairs(statement):
            if not isinstance(value, ast.Call) or "optim." not in (dotted(value.func) or ""):
                continue
            owned = [dotted(receiver(c)) or "" for c in script.nodes(ast.Call, value) if method(c) == "parameters"]
            holds = [part for name in owned for part in name.split(".") if part in known]
            found.append(Optimizer(dotted(target) or "", value, statement, tuple(dict.fromkeys(holds))))
    return found


@cache
def trained(script: Script) -> set[str]:
    return {name for optimizer in optimizers(script) for name in optimizer.holds}


def forwards(script: Script, leaves: set[str]) -> list[ast.Call]:
    """Calls that run one of these networks: itself, a method of its class, or a function it is handed to."""
    functions = script.functions
    found = []
    for call in script.nodes(ast.Call):
        chain = (dotted(call.func) or "").split(".")
        own_method = chain[-1] in functions and leaves & set(chain[:-1])
        if chain[-1] in leaves or own_method or _handed(script, call, leaves):
            found.append(call)
    return found


def _handed(script: Script, call: ast.Call, leaves: set[str]) -> bool:
    """Whether a function of this file runs one of these networks under another name."""
    function = script.functions.get(dotted(call.func) or "")
    if function is None:
        return False
    chains = [(dotted(c.func) or "").split(".") for c in script.nodes(ast.Call, function)]
    run = {chain[0] for chain in chains if len(chain) == 1 or chain[-1] in script.functions}
    given = zip((a.arg for a in function.args.args), call.args, strict=False)
    return any(name in run - leaves and leaf(dotted(argument) or "") in leaves for name, argument in given)


def is_region(node: ast.AST | None) -> bool:
    """Whether this is a `with torch.no_grad():` or a function decorated with it."""
    if isinstance(node, ast.With):
        guards = [item.context_expr for item in node.items]
    elif isinstance(node, ast.FunctionDef):
        guards = node.decorator_list
    else:
        return False
    return any(leaf(dotted(g.func if isinstance(g, ast.Call) else g) or "") in _REGIONS for g in guards)


def guarded(script: Script, node: ast.AST, opened: ast.AST | None = None) -> bool:
    """Whether a node runs under `no_grad`, not counting the region `opened`."""
    return any(is_region(a) and a is not opened for a in script.ancestors(node))
