"""Questions about single expressions: their text, their target, the receiver of a call."""

from __future__ import annotations

import ast
from functools import lru_cache

from whygrad.source import files
from whygrad.source.covering import covering
from whygrad.trace.site import Site

Span = tuple[str, int, int, int, int]
LONGEST_TEXT = 60


def span(file: str, node: ast.AST) -> Span:
    """File, first line and column, last line and column (exclusive), in characters."""
    line, end = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
    return (
        file,
        line,
        files.characters(file, line, node.col_offset),  # type: ignore[attr-defined]
        end,
        files.characters(file, end, node.end_col_offset or 0),  # type: ignore[attr-defined]
    )


def text(site: Site | None) -> str:
    """The expression as written, on one line."""
    if site is None:
        return ""
    rows = files.lines(site.file)[site.line - 1 : site.end_line or site.line]
    if not rows:
        return ""
    if len(rows) == 1:
        found = rows[0][site.col : site.end_col or None]
    else:
        found = " ".join([rows[0][site.col :], *(r.strip() for r in rows[1:-1]), rows[-1][: site.end_col].strip()])
    found = " ".join(found.split())
    return found if len(found) <= LONGEST_TEXT else found[: LONGEST_TEXT - 1] + "…"


@lru_cache(maxsize=2048)
def at(site: Site) -> ast.expr | None:
    """The syntax node of exactly this expression."""
    module = files.tree(site.file)
    if module is None:
        return None
    wanted = (site.file, site.line, site.col, site.end_line, site.end_col)
    for node in covering(module, site.line):
        if isinstance(node, ast.expr) and span(site.file, node) == wanted:
            return node
    return None


def with_literal(site: Site) -> bool:
    """Whether the expression combines something with a number that is written there: `0.5 * x`, `x - 1`."""
    node = at(site)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(isinstance(s.operand if isinstance(s, ast.UnaryOp) else s, ast.Constant) for s in sides)


def statement(site: Site) -> ast.stmt | None:
    """The innermost statement around the expression."""
    module = files.tree(site.file)
    if module is None:
        return None
    found = [n for n in covering(module, site.line) if isinstance(n, ast.stmt)]
    return found[-1] if found else None


def targets(site: Site) -> list[str]:
    """What the statement around this expression assigns to, as written."""
    node = statement(site)
    if isinstance(node, ast.Assign):
        return [ast.unparse(t) for t in node.targets]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return [ast.unparse(node.target)]
    return []


def name(site: Site | None) -> str:
    """What the user calls this value: the variable it is assigned to, else the expression."""
    if site is None:
        return ""
    node = statement(site)
    value = getattr(node, "value", None)
    if isinstance(node, ast.Assign) and isinstance(value, ast.expr) and len(node.targets) == 1:
        written = ast.unparse(node.targets[0])
        if span(site.file, value) == (site.file, site.line, site.col, site.end_line, site.end_col):
            return written
    return text(site)


def operand(site: Site, index: int) -> str:
    """An operand of a sum or product, as written."""
    node = at(site)
    if isinstance(node, ast.BinOp):
        return text(Site(*span(site.file, node.right if index else node.left)))
    return ""


def first_argument(site: Site | None, method: str) -> str:
    """What a call of this method is given first, as written; nothing where no such call stands there."""
    node = at(site) if site is not None else None
    if not isinstance(node, ast.Call) or not node.args or getattr(node.func, "attr", "") != method:
        return ""
    found = ast.unparse(node.args[0])
    return found if len(found) <= LONGEST_TEXT else ""


def listed_variables(site: Site) -> Site | None:
    """The assignment, in this file, of a name that the call mentions to `….trainable_variables` or its like."""
    node = at(site)
    if node is None:
        return None
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    for found in files.nodes(site.file):
        if not isinstance(found, ast.Assign) or not isinstance(found.value, ast.Attribute):
            continue
        mentioned = names & {target.id for target in found.targets if isinstance(target, ast.Name)}
        if mentioned and "variables" in found.value.attr:
            return Site(*span(site.file, found.value))
    return None


def replaces_itself(site: Site) -> bool:
    """`x = f(x, …)`: the statement only swaps a variable for a copy of itself."""
    node, call = statement(site), at(site)
    if not isinstance(node, ast.Assign) or node.value is not call or not isinstance(call, ast.Call) or not call.args:
        return False
    return [ast.unparse(t) for t in node.targets] == [ast.unparse(call.args[0])]


def receiver(site: Site | None) -> str:
    """`loss` in `loss.backward()`, and the first argument in `accelerator.backward(loss)`."""
    node = at(site) if site is not None else None
    if not isinstance(node, ast.Call):
        return ""
    if node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def parameter_sources(site: Site | None) -> list[str]:
    """`model` in `Adam(model.parameters())`: the objects whose parameters a call takes."""
    node = at(site) if site is not None else None
    if node is None:
        return []
    return [
        ast.unparse(call.func.value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("parameters", "named_parameters")
    ]


def switches(file: str) -> list[Site]:
    """Plain calls that switch gradient off and leave it so: `torch.set_grad_enabled(False)` as a statement."""
    out: list[Site] = []
    for node in files.nodes(file):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("set_grad_enabled"):
            on = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value is True
            out += [] if on else [Site(*span(file, call))]
    return out


def decorator(file: str, function: str, first_line: int, names: tuple[str, ...]) -> Span | None:
    """The decorator of a function that mentions one of the names."""
    for node in files.nodes(file):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != function:
            continue
        if node.decorator_list and node.decorator_list[0].lineno == first_line:
            for found in node.decorator_list:
                if any(name in ast.unparse(found) for name in names):
                    return span(file, found)
    return None
