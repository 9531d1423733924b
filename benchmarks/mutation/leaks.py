"""Which codes are a right answer when a guard against gradient is taken away, and on which lines."""

from __future__ import annotations

import ast

from mutation.draft import Draft
from mutation.flow import OPENED, Flow
from mutation.losses import ratios, regressions, weightings
from mutation.updates import backwards


def mark_leak(draft: Draft, opened: ast.AST) -> None:
    """Mark what the value behind the guard `opened` does where it arrives.

    One leak may show as several true findings: a bootstrapped value that is both the target of the
    critic and a part of the advantage. All of them are fair; a leak that arrives nowhere known is
    fair under any code of the family at the guard itself.
    """
    flow = Flow(draft.script, opened)
    arrived = [_as_target(draft, flow), _as_weight(draft, flow), _as_old_log_prob(draft, flow)]
    if not any(arrived):
        covered = opened.body if isinstance(opened, ast.With | ast.FunctionDef) else [draft.script.statement(opened)]
        for code in ("WG201", "WG203", "WG204", "WG207"):
            draft.fair(code, *covered)


def _behind(flow: Flow) -> list[ast.stmt]:
    """The statements that the guard covered."""
    return [e.statement for e in flow.edges if OPENED in e.reads]


def _as_target(draft: Draft, flow: Flow) -> bool:
    reached, edges = flow.downstream()
    targets = [r.target for r in regressions(draft.script) if flow.reads(r.target) & reached]
    for target in targets:
        way = flow.upstream(flow.reads(target) & reached, edges)
        draft.fair("WG201", target, *(s for s in way if isinstance(s, ast.Assign | ast.AugAssign)))
    return bool(targets)


def _as_weight(draft: Draft, flow: Flow) -> bool:
    reached, _ = flow.downstream()
    products = [p for p, weight in weightings(draft.script) if flow.reads(weight) & reached]
    for product in products:
        draft.fair("WG203", product, draft.script.statement(product))
        function = draft.script.function(product)
        if function is not None and len(backwards(draft.script, function)) > 1:
            _reused_graph(draft, flow)
    return bool(products)


def _reused_graph(draft: Draft, flow: Flow) -> None:
    """A critic that two losses now differentiate: PyTorch raises at the second, and any forward line is fair."""
    behind = frozenset[str]().union(*(e.reads for e in flow.edges if OPENED in e.reads))
    _, computed = flow.computed()
    draft.fair("WG603", *_behind(flow), *flow.upstream(behind, computed))


def _as_old_log_prob(draft: Draft, flow: Flow) -> bool:
    """Data that several epochs learn from: with a graph, the second backward fails on what was stored."""
    reached, edges = flow.downstream()
    found = [call for call, difference in ratios(draft.script) if flow.reads(difference.right) & reached]
    if found:
        draft.fair("WG204", *found, *_behind(flow))
    if ratios(draft.script):
        draft.fair("WG207", *_behind(flow), *(e.statement for e in edges if e.stores))
    return bool(found)
