"""Terms that push a policy the wrong way: the graph gives the sign, the user's names the meaning of the weight."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from whygrad.source import expressions
from whygrad.trace import Backward, Op, Site, Trace
from whygrad.trace.anatomy import behind_shaping, head
from whygrad.trace.entropy_estimates import scores_own_draw
from whygrad.trace.graph import Graph, Kind
from whygrad.trace.likeness import score_like
from whygrad.trace.losses import latest
from whygrad.trace.operations import CONTRACTIONS, NEGATING, PRODUCTS, SCALINGS, SHAPING, SUMS
from whygrad.trace.ratios import ratios
from whygrad.trace.signs import signed
from whygrad.trace.trace import worked_out_once
from whygrad.trace.uses import steps_using

GAINS = re.compile(r"adv|return|reward|gae|\bret(s|urns)?\b|\br\b|score|gain|(^|_)G(_|$)|(^|[^a-z])rtg", re.IGNORECASE)
COSTS = re.compile(
    r"cost|regret|penal|dist(ance)?s?\b(?!\.)|loss|energy|error|neg|violat|danger"
    r"|length|travel|makespan|delay|latency|wait|fuel|consum|deviation|residual",
    re.IGNORECASE,
)
WEIGHING = PRODUCTS | CONTRACTIONS
UNCHANGED = frozenset({"squeeze", "unsqueeze", "reshape", "sum", "stack", "cat", "clone"})
LIKELIHOODS = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"})
"""Negative log-probabilities of what was done."""
MOST = 40


@dataclass(slots=True)
class Wrong:
    backward: Backward
    op: Op
    how: str
    """`score`, `likelihood`, `extreme` or `entropy`."""
    evidence: str
    site: Site | None = None


def wrong_signs(trace: Trace) -> Iterator[Wrong]:
    for backward in latest(trace):
        if backward.root is None or backward.how != "backward" or _maximised(trace, backward):
            continue
        surrogates = _surrogates(trace).get(backward.id, set())
        met: set[object] = set()
        for op, sign in signed(trace.graph, backward.root):
            outermost = op.site not in met  # Below it the same expression goes on with signs of its own.
            met.add(op.site)
            yield from _extreme(trace.graph, backward, op, sign, surrogates)
            yield from _score(trace.graph, backward, op, sign, surrogates)
            yield from _entropy(trace.graph, backward, op, sign, outermost)


@worked_out_once
def _surrogates(trace: Trace) -> dict[int, set[int]]:
    """Ratios by the backward they belong to."""
    out: dict[int, set[int]] = {}
    for ratio in ratios(trace):
        out.setdefault(ratio.backward.id, set()).add(ratio.op.id)
    return out


def _maximised(trace: Trace, backward: Backward) -> bool:
    """An optimizer that climbs, a negative rate, or gradients changed by hand: the sign is turned elsewhere."""
    users = {step.optimizer for step in steps_using(trace, backward.id)}
    optimizers = [o for o in trace.optimizers if o.id in users]
    by_hand = any(c.how == "hand" and c.parameters & backward.deposits for c in trace.clips)
    assigned = bool(users & _assigning(trace))
    turned = any(o.maximizes or any(rate < 0 for rate in o.rates) for o in optimizers)
    return not optimizers or turned or by_hand or assigned


@worked_out_once
def _assigning(trace: Trace) -> frozenset[int]:
    """Optimizers that stepped with gradients that were put there by hand."""
    return frozenset(step.optimizer for step in trace.steps if step.assigned)


def _score(graph: Graph, backward: Backward, op: Op, sign: int, surrogates: set[int]) -> Iterator[Wrong]:
    """A log-probability (or ratio) times a weight, with a plus; or its negative, a cross entropy, with a minus."""
    if op.name not in WEIGHING:
        return
    values = [i for i in op.inputs if not i.selector]
    carrying = [i for i in values if op.passes(i)]
    weights = [i for i in values if not i.carries]
    if len(carrying) != 1 or len(weights) != 1:
        return
    policy = _policy(graph, carrying[0].op, surrogates)
    if sign * policy * _turn(graph, weights[0].op) <= 0:
        return
    named = _meaning(graph, op, weights[0].op)
    if named:
        yield Wrong(backward, op, "score" if policy > 0 else "likelihood", f"the weight is called `{named}`")


def _policy(graph: Graph, number: int, surrogates: set[int]) -> int:
    """1 for a log-probability, -1 for its negative, 0 for anything else."""
    op, sign = graph.ops.get(number), 1
    while op is not None and op.name in UNCHANGED | NEGATING:
        sign = -sign if op.name in NEGATING else sign
        op = graph.ops.get(op.inputs[0].op) if op.inputs else None
    if op is None:
        return 0
    if op.name in LIKELIHOODS:
        return -sign
    likely = score_like(graph, op.id) and op.name in ("gather", "log_softmax", "sub", "select")
    return sign if op.id in surrogates or likely else 0


def _turn(graph: Graph, number: int) -> int:
    """-1 for a weight that has a minus of its own (`-g * log_prob`), else 1."""
    op, sign = graph.ops.get(number), 1
    while op is not None and (op.name in SHAPING or op.name in SCALINGS):
        values = [i.op for i in op.inputs if not i.selector]
        scaled = op.name in SCALINGS
        called = expressions.targets(op.site) if op.site is not None else []
        if not values or (scaled and len(values) > 1) or any(GAINS.search(name) for name in called):
            break  # What goes by the name of a gain is one with all that it is made of.
        sign = -sign if op.name in NEGATING or (scaled and op.scalar is not None and op.scalar < 0) else sign
        op = graph.ops.get(values[0])
    return sign


def _meaning(graph: Graph, op: Op, weight: int) -> str:
    """The name of the weight, where it speaks of something to be gained."""
    own = [*expressions.targets(op.site), _function(op.site)] if op.site is not None else []
    names = [n for n in (*_operands(op), *_called(graph, weight)) if n and n not in own]
    if any(COSTS.search(name) for name in names):
        return ""
    return next((n for n in names if GAINS.search(n) and not _taken_away(n)), "")


def _taken_away(written: str) -> bool:
    """`(value - gain)`: what is gained has a minus already."""
    try:
        nodes = list(ast.walk(ast.parse(written, mode="eval")))
    except SyntaxError:
        return False
    apart = [(ast.unparse(n.left), ast.unparse(n.right)) for n in nodes if _subtracts(n)]
    return any(GAINS.search(right) and not GAINS.search(left) for left, right in apart)


def _subtracts(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _called(graph: Graph, start: int) -> list[str]:
    """Names that what a weight is made of goes by, nearest first; not of what is taken away from it."""
    out: list[str] = []
    stack, seen = [start], {start}
    while stack and len(seen) < MOST:
        op = graph.ops.get(stack.pop(0))
        if op is None or op.layer or op.kind is Kind.DISCRETE or (op.region is not None and op.region.by == "sample"):
            continue  # What the action was drawn from says nothing about what it earned.
        if op.site is not None:
            out += [expressions.name(op.site), *expressions.targets(op.site), _function(op.site)]
        added = {"sub": op.inputs[:1], "rsub": ()}.get(op.name, op.inputs)
        fresh = [i.op for i in added if i.op not in seen and not i.selector]
        seen.update(fresh)
        stack.extend(fresh)
    return out


def _function(site: Site) -> str:
    """What a value is called by the function that computes it: `env.reward(…)`."""
    return site.function.rsplit(".", 1)[-1]


def _operands(op: Op) -> list[str]:
    if op.site is None:
        return []
    written = [expressions.operand(op.site, index) for index in (0, 1)]
    return [w for w in written if w and not re.search(r"log|ratio|prob", w, re.IGNORECASE)]


def _extreme(graph: Graph, backward: Backward, op: Op, sign: int, surrogates: set[int]) -> Iterator[Wrong]:
    """`-max(surrogate, clipped)` or `min(-surrogate, -clipped)`."""
    if op.name not in ("minimum", "maximum") or len(op.inputs) != 2:
        return
    sides = [list(head(graph, i.op)) for i in op.inputs]
    if not all(any(o.id in surrogates for o in side) for side in sides):
        return
    limited = [any(o.name == "clamp" and any(i.op in surrogates for i in o.inputs) for o in side) for side in sides]
    if limited[0] == limited[1]:
        return
    smallest = op.name == "minimum"
    if smallest == (sign > 0):
        which = f"{'minimum' if smallest else 'maximum'} of the plain and the clipped term"
        outside = [list(head(graph, i.op, stop=lambda _, o: o.id in surrogates)) for i in op.inputs]
        plus = smallest and not any(_negated(graph, side) for side in outside)
        yield Wrong(backward, op, "score" if plus else "extreme", which)


def _negated(graph: Graph, side: list[Op]) -> bool:
    """`-ratio * advantage` in any spelling: then the minimum is wrong, else the sign of the whole."""
    signs = [op.name in NEGATING or (op.scalar is not None and op.scalar < 0) for op in side]
    weights = [f for op in side if op.name in PRODUCTS for i, f in graph.operands(op) if not i.carries]
    return any(signs) or any(w.name in NEGATING or (w.scalar is not None and w.scalar < 0) for w in weights)


def _entropy(graph: Graph, backward: Backward, op: Op, sign: int, outermost: bool) -> Iterator[Wrong]:
    """The entropy of a policy, added to the loss: by its call, or as p log p or log p of its own draw with a minus."""
    called = outermost and sign > 0 and op.requires_grad and _calls_entropy(op)
    if called or (sign < 0 and (_p_log_p(graph, op) or scores_own_draw(graph, op))):
        site = (None if called else _turned(graph, backward.root or 0, op)) or _summand(graph, backward.root or 0, op)
        yield Wrong(backward, op, "entropy", f"{expressions.text(site) or 'the entropy'} is added to the loss", site)


def _calls_entropy(op: Op) -> bool:
    """`dist.entropy()`, and nothing around it."""
    node = expressions.at(op.site) if op.site is not None else None
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "entropy"


def _p_log_p(graph: Graph, op: Op) -> bool:
    if op.name not in PRODUCTS or len(op.inputs) != 2 or not all(op.passes(i) for i in op.inputs):
        return False
    sides = [behind_shaping(graph, i.op) for i in op.inputs]
    logs = [s for s in sides if s is not None and _is_log(graph, s)]
    chances = [s for s in sides if s is not None and s.name in ("softmax", "exp")]
    return len(logs) == 1 and len(chances) == 1


def _is_log(graph: Graph, op: Op) -> bool:
    if op.name in ("log_softmax", "log"):
        return True
    return op.name == "sub" and any(found.name == "logsumexp" for _, found in graph.operands(op))


def _summand(graph: Graph, root: int, wanted: Op) -> Site | None:
    """The part of the whole sum that a value is in, as written there."""
    op = graph[root]
    while op.name in SUMS or op.name in ("mean", "sum"):
        inside = [i.op for i in op.inputs if i.op in graph.ops and _holds(graph, i.op, wanted.id)]
        if not inside or inside[0] == wanted.id:
            break
        op = graph[inside[0]]
    return op.site or wanted.site


def _turned(graph: Graph, root: int, wanted: Op) -> Site | None:
    """The subtraction that gives a value its minus, where there is just one on the way.

    A minus in front of p log p is the entropy's own: then the term that adds it is the wrong one."""
    turns: list[Op] = []
    op = graph[root]
    while op.id != wanted.id:
        inside = [i for i in op.inputs if i.op in graph.ops and _holds(graph, i.op, wanted.id)]
        if not inside:
            return None
        if op.name in NEGATING or (op.name == "sub" and inside[0] is not op.inputs[0]):
            turns.append(op)
        op = graph[inside[0].op]
    return turns[0].site if len(turns) == 1 and turns[0].name not in NEGATING else None


def _holds(graph: Graph, root: int, wanted: int) -> bool:
    stack, seen = [root], {root}
    while stack:
        number = stack.pop()
        if number == wanted:
            return True
        op = graph.ops.get(number)
        fresh = [i.op for i in op.inputs if i.op not in seen and i.op >= wanted] if op is not None else []
        seen.update(fresh)
        stack.extend(fresh)
    return False
