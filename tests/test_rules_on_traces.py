"""The rules as pure functions: each pattern built by hand, without torch."""

from __future__ import annotations

import pytest

from building import FILE, Building, no_grad, site
from whygrad.engine import diagnose
from whygrad.finding import Finding
from whygrad.trace import Kind, Raised, Site, Trace


def loud(trace: Trace) -> list[Finding]:
    return [f for f in diagnose(trace) if f.loud]


def codes(trace: Trace) -> list[tuple[str, int]]:
    return [(f.code, f.site.line if f.site is not None else 0) for f in loud(trace)]


def cut_by(kind: Kind, name: str) -> Building:
    """A policy whose output passes through one blocking operation, next to a healthy critic."""
    b = Building()
    policy, critic = b.parameter("policy.weight"), b.parameter("critic.weight")
    output = b.linear(policy, line=5)
    through = b.op(name, output, line=6, kind=kind)
    loss = b.op("add", b.op("mean", through, line=7), b.op("mean", b.linear(critic, line=8), line=9), line=10)
    optimizer = b.optimizer("optimizer", policy, critic)
    for _ in range(2):
        b.update(loss, optimizer)
    return b


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (Kind.COPY, "tensor", "WG101"),
        (Kind.FLAG, "requires_grad_", "WG101"),
        (Kind.LEAVE, "item", "WG102"),
        (Kind.DETACH, "detach", "WG103"),
        (Kind.DISCRETE, "argmax", "WG105"),
    ],
)
def test_a_blocking_operation_is_the_cause(kind: Kind, name: str, code: str) -> None:
    trace = cut_by(kind, name).trace
    assert codes(trace) == [(code, 6)]
    finding = loud(trace)[0]
    assert finding.parameters == ["policy.weight"]
    assert "policy is not learning" in finding.message
    assert finding.severity == "error"


@pytest.mark.parametrize(("by", "code"), [("user", "WG104"), ("sample", "WG106"), ("checkpoint", "WG111")])
def test_a_region_is_named_by_its_opener(by: str, code: str) -> None:
    b = Building()
    policy = b.parameter("policy.weight")
    output = b.linear(policy, line=6, region=no_grad(4, by))
    optimizer = b.optimizer("optimizer", policy)
    for _ in range(2):
        b.update(b.op("mean", output, line=7), optimizer)
    assert codes(b.trace) == [(code, 4)]


def test_a_value_that_left_and_came_back_is_one_cause() -> None:
    b = Building()
    policy = b.parameter("policy.weight")
    left = b.op("item", b.linear(policy, line=5), line=6, kind=Kind.LEAVE)
    back = b.op("tensor", left, line=7, kind=Kind.COPY)
    b.update(b.op("mean", back, line=8), b.optimizer("optimizer", policy))
    assert codes(b.trace) == [("WG102", 6)]


def test_a_dead_term_is_found_behind_a_living_one() -> None:
    b = Building()
    actor, critic = b.parameter("actor.weight"), b.parameter("critic.weight")
    mean = b.linear(actor, line=5)
    action = b.op("normal", mean, line=6, region=no_grad(6, "sample"))
    q = b.linear(critic, action, line=7)
    loss = b.op("sub", b.op("mul", mean, line=8), b.op("mean", q, line=9), line=10)
    b.optimizer("critic_optimizer", critic)
    actor_optimizer = b.optimizer("actor_optimizer", actor)
    for _ in range(2):
        b.update(loss, actor_optimizer)
    assert codes(b.trace) == [("WG106", 6)]
    assert "does not train actor" in loud(b.trace)[0].message


def test_a_weight_of_a_living_factor_is_constant_on_purpose() -> None:
    """The critic only weighs the log-probability: no cut is to blame, no loss trains it."""
    b = Building()
    policy, critic = b.parameter("policy.weight"), b.parameter("critic.weight")
    advantage = b.op("detach", b.linear(critic, line=5), line=6, kind=Kind.DETACH)
    log_prob = b.op("log_softmax", b.linear(policy, line=7), line=7)
    loss = b.op("mean", b.op("mul", log_prob, advantage, line=8), line=9)
    optimizer = b.optimizer("optimizer", policy, critic)
    for _ in range(2):
        b.update(loss, optimizer)
    assert codes(b.trace) == [("WG107", 20)]
    assert loud(b.trace)[0].parameters == ["critic.weight"]


def test_a_factor_of_a_plain_output_is_a_path() -> None:
    """Mixing weights times values, both networks: the cut factor was meant to train."""
    b = Building()
    gate, expert = b.parameter("gate.weight"), b.parameter("expert.weight")
    weights = b.op("tensor", b.linear(gate, line=5), line=6, kind=Kind.COPY)
    loss = b.op("mean", b.op("mul", b.linear(expert, line=7), weights, line=8), line=9)
    optimizer = b.optimizer("optimizer", gate, expert)
    for _ in range(2):
        b.update(loss, optimizer)
    assert codes(b.trace) == [("WG101", 6)]


def test_a_choice_that_alone_decides_is_a_path() -> None:
    """one_hot(argmax) into a critic; the other term keeps the actor moving."""
    b = Building()
    actor, critic = b.parameter("actor.weight"), b.parameter("critic.weight")
    logits = b.linear(actor, line=5)
    best = b.op("argmax", logits, line=6, kind=Kind.DISCRETE)
    b.trace.graph[best].floating = False
    row = b.op("index_select", best, line=7, selects=(best,))
    q = b.op("mean", b.linear(critic, row, line=8), line=8)
    loss = b.op("add", q, b.op("pow", logits, line=9), line=10)
    b.optimizer("critic_optimizer", critic)
    actor_optimizer = b.optimizer("actor_optimizer", actor)
    for _ in range(2):
        b.update(loss, actor_optimizer)
    assert codes(b.trace) == [("WG105", 6)]


def test_a_constant_companion_of_a_summand_is_meant() -> None:
    """loss + x - x.detach(): the value cancels, the gradient stays."""
    b = Building()
    net = b.parameter("net.weight")
    x = b.linear(net, line=5)
    constant = b.op("detach", x, line=6, kind=Kind.DETACH)
    b.update(b.op("sub", x, constant, line=7), b.optimizer("optimizer", net))
    assert codes(b.trace) == []


def test_a_detached_baseline_with_its_own_loss_is_healthy() -> None:
    b = Building()
    policy, critic = b.parameter("policy.weight"), b.parameter("critic.weight")
    value = b.linear(critic, line=5)
    advantage = b.op("detach", value, line=6, kind=Kind.DETACH)
    pg = b.op("mean", b.op("mul", b.linear(policy, line=7), advantage, line=8), line=9)
    loss = b.op("add", pg, b.op("pow", value, line=10), line=11)
    b.update(loss, b.optimizer("optimizer", policy, critic))
    assert codes(b.trace) == []


def test_an_index_is_no_path() -> None:
    """argmax picks the row; what it picks carries the gradient."""
    b = Building()
    net = b.parameter("net.weight")
    q = b.linear(net, line=5)
    best = b.op("argmax", q, line=6, kind=Kind.DISCRETE)
    loss = b.op("gather", q, best, line=7, selects=(best,))
    b.update(loss, b.optimizer("optimizer", net))
    assert codes(b.trace) == []


def test_acting_under_no_grad_is_not_the_cause() -> None:
    """The value loss sees what the policy did, but nobody expects gradient through a rollout."""
    b = Building()
    policy, critic = b.parameter("policy.weight"), b.parameter("critic.weight")
    region = no_grad(4)
    noise = b.op("randn", line=5, kind=Kind.INPUT)
    action = b.op("add", b.linear(policy, line=5, region=region), noise, line=6, region=region)
    loss = b.op("pow", b.linear(critic, action, line=8), line=9)
    optimizer = b.optimizer("optimizer", policy, critic)
    for _ in range(2):
        b.update(loss, optimizer)
    assert codes(b.trace) == [("WG107", 20)]


@pytest.mark.parametrize("alone", [False, True])
def test_a_frozen_part_is_silent_until_it_kills_a_term(alone: bool) -> None:
    b = Building()
    trunk = b.parameter("trunk.weight", requires_grad=False, frozen=site(2))
    head = b.parameter("head.weight")
    loss = b.op("mean", b.linear(head, b.linear(trunk, line=5), line=6), line=7)
    if alone:
        loss = b.op("add", b.op("mean", b.linear(trunk, line=8), line=9), loss, line=10)
    b.update(loss, b.optimizer("optimizer", trunk, head))
    assert codes(b.trace) == ([("WG108", 2)] if alone else [])


def test_gradient_without_an_optimizer() -> None:
    b = Building()
    encoder, head = b.parameter("encoder.weight"), b.parameter("head.weight")
    loss = b.op("mean", b.linear(head, b.linear(encoder, line=5), line=6), line=7)
    optimizer = b.optimizer("optimizer", head)
    for _ in range(2):
        b.update(loss, optimizer)
    assert codes(b.trace) == [("WG109", 3)]


def test_a_target_beside_the_trained_network_is_left_alone() -> None:
    """It gets gradient and nobody steps it: wasted work, and right."""
    b = Building()
    net, target = b.parameter("net.weight"), b.parameter("target.weight")
    loss = b.op("pow", b.op("sub", b.linear(net, line=5), b.linear(target, line=6), line=7), line=8)
    optimizer = b.optimizer("optimizer", net)
    for _ in range(3):
        b.update(loss, optimizer)
    assert codes(b.trace) == []


def test_replaced_parameters() -> None:
    b = Building()
    old, new = b.parameter("net.weight"), b.parameter("net.weight")
    b.trace.parameters[1].derived_from = (0,)
    loss = b.op("mean", b.linear(new, line=5), line=6)
    optimizer = b.optimizer("optimizer", old)
    for _ in range(3):
        b.update(loss, optimizer)
    assert [code for code, _ in codes(b.trace)] == ["WG110"]


def test_a_function_that_returns_nothing() -> None:
    b = Building()
    actor = b.parameter("actor.weight")
    through = b.op("Valve", b.linear(actor, line=5), line=6, kind=Kind.FUNCTION, silenced=(0,))
    loss = b.op("mean", through, line=7)
    optimizer = b.optimizer("optimizer", actor)
    for _ in range(2):
        b.update(loss, optimizer, deposits=frozenset())
    assert codes(b.trace) == [("WG113", 6)]


def test_an_operation_without_derivative() -> None:
    b = Building()
    policy = b.parameter("policy.weight")
    output = b.linear(policy, line=5)
    spread = b.op("histc", output, line=6)
    b.trace.graph[spread].requires_grad = False
    loss = b.op("add", b.op("mean", output, line=7), b.op("mean", spread, line=8), line=9)
    b.update(loss, b.optimizer("optimizer", policy))
    assert codes(b.trace) == [("WG112", 6)]


@pytest.mark.parametrize("code", [f"WG60{n}" for n in range(1, 9)])
def test_an_error_is_explained_at_its_cause(code: str) -> None:
    trace = Trace(raised=Raised(code, "what PyTorch says", "RuntimeError", site(9), culprit=site(4)))
    finding = loud(trace)[0]
    assert (finding.code, finding.severity) == (code, "error")
    assert finding.site == site(4)
    assert "what PyTorch says" in finding.seen
    assert any(label.site == site(9) for label in finding.labels)


def test_the_cut_leads_and_the_error_is_attached() -> None:
    b = Building()
    net = b.parameter("net.weight")
    picked = b.op("argmax", b.linear(net, line=5), line=6, kind=Kind.DISCRETE)
    loss = b.op("mse_loss", picked, line=7)
    b.optimizer("optimizer", net)
    backward = b.update(loss)
    b.trace.raised = Raised("WG601", "element 0 …", "RuntimeError", site(20), backward=backward.id)
    assert codes(b.trace) == [("WG105", 6)]
    assert loud(b.trace)[0].evidence["raised"] == "element 0 …"


def test_folded_graphs_are_not_judged_by_terms() -> None:
    """Gradient arrived where the shadow graph shows no path: then a dead-looking term proves nothing."""
    b = Building()
    policy, hidden = b.parameter("policy.weight"), b.parameter("hidden.weight")
    opaque = b.op("detach", b.linear(hidden, line=5), line=6, kind=Kind.DETACH)
    loss = b.op("add", b.op("mean", b.linear(policy, line=7), line=8), opaque, line=9)
    b.update(loss, b.optimizer("optimizer", policy, hidden), deposits=frozenset({0, 1}))
    assert codes(b.trace) == []


def test_every_site_is_the_users() -> None:
    trace = cut_by(Kind.COPY, "tensor").trace
    finding = loud(trace)[0]
    assert {label.site.file for label in finding.labels} == {FILE}


def test_inside_a_library_its_line_is_shown_too() -> None:
    b = cut_by(Kind.DETACH, "detach")
    inside = Site("trainer.py", 300, 8, 300, 20, "Trainer.step")
    next(op for op in b.trace.graph.ops.values() if op.kind is Kind.DETACH).library = inside
    finding = loud(b.trace)[0]
    assert finding.site is not None
    assert finding.site.file == FILE
    assert any(label.site == inside for label in finding.labels)
