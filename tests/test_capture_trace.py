"""The raw trace of a small run: every event once, in order, at its place."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from whygrad.capture.torch import Capture, Options
from whygrad.session import active
from whygrad.trace import Kind, Site, Trace


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()
    torch.set_grad_enabled(True)


def marked(name: str) -> int:
    rows = Path(__file__).read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, row in enumerate(rows, 1) if row.endswith(f"# here: {name}")]
    return line


def recorded(rounds: int = 2) -> Trace:
    capture = Capture(Options())
    capture.start()
    try:
        net = nn.Linear(4, 1)
        target = copy.deepcopy(net)  # here: copy
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # here: optimizer
        for _ in range(rounds):
            with torch.no_grad():  # here: region
                goal = target(torch.ones(8, 4))
            out = net(torch.ones(8, 4))  # here: forward
            loss = (out - goal - 1.0).pow(2).mean()
            optimizer.zero_grad()  # here: clear
            loss.backward()  # here: backward
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)  # here: clip
            optimizer.step()  # here: step
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                    slow.copy_(0.9 * slow + 0.1 * fast)  # here: soft update
    finally:
        trace = capture.stop()
    return trace


def line(site: Site | None) -> int:
    assert site is not None
    assert site.file == __file__
    return site.line


def test_events_and_their_places() -> None:
    trace = recorded()
    assert {line(b.site) for b in trace.backwards} == {marked("backward")}
    assert {line(s.site) for s in trace.steps} == {marked("step")}
    assert {line(c.site) for c in trace.clears} == {marked("clear")}
    assert {line(c.site) for c in trace.clips} == {marked("clip")}
    assert {line(c.site) for c in trace.copies} == {marked("soft update")}
    assert [line(o.site) for o in trace.optimizers] == [marked("optimizer")]
    assert [c.limit for c in trace.clips] == [0.5, 0.5]
    assert (trace.updates, trace.traced_updates, trace.backward_calls) == (2, 2, 2)
    assert trace.raised is None
    assert trace.limits == []


def test_events_are_in_order() -> None:
    trace = recorded()
    events = [
        (event.order, name)
        for name, found in (
            ("clear", trace.clears),
            ("backward", trace.backwards),
            ("clip", trace.clips),
            ("step", trace.steps),
        )
        for event in found
    ]
    assert [name for _, name in sorted(events)] == ["clear", "backward", "clip", "step"] * 2


def test_parameters_and_what_became_of_them() -> None:
    trace = recorded(6)
    by_name = {p.name: p for p in trace.parameters}
    assert set(by_name) == {"net.weight", "net.bias", "target.weight", "target.bias"}
    weight, slow = by_name["net.weight"], by_name["target.weight"]
    assert (weight.shape, weight.grad, weight.consumed, weight.held_steps) == ((1, 4), "nonzero", 6, 6)
    assert (slow.grad, slow.consumed, slow.held_steps, slow.loaded) == ("none", 0, 0, True)
    assert slow.derived_from == (weight.id,)
    assert all(c.into <= {slow.id, by_name["target.bias"].id} for c in trace.copies)
    assert {n for c in trace.copies for n in c.sources} == {weight.id, by_name["net.bias"].id}


def test_graph_of_the_loss() -> None:
    trace = recorded()
    graph = trace.graph
    root = trace.rooted[-1].root
    assert root is not None
    names = {p.id: p.name for p in trace.parameters}
    assert {names[n] for n in graph.reach(root)} == {"net.weight", "net.bias"}
    assert {names[n] for n in graph.depends(root)} == set(names.values())
    layers = [op for op in graph.ops.values() if op.name == "linear"]
    assert {line(op.site) for op in layers if op.requires_grad} == {marked("forward")}
    shadowed = [op for op in layers if op.region is not None]
    assert {line(op.region.site) for op in shadowed if op.region is not None} == {marked("region")}
    assert {op.region.by for op in shadowed if op.region is not None} == {"user"}
    assert all(i.op < op.id for op in graph.ops.values() for i in op.inputs)
    assert {op.kind for op in graph.ops.values() if op.parameter is not None} == {Kind.PARAMETER}


def test_deposits_are_consumed_by_the_step() -> None:
    trace = recorded()
    held = set(trace.optimizers[0].parameters)
    assert [set(b.deposits) for b in trace.backwards] == [held, held]
    assert [set(s.consumed) for s in trace.steps] == [held, held]
    assert [ids for s in trace.steps for ids in s.consumed.values()] == [(1,), (1,), (2,), (2,)]
