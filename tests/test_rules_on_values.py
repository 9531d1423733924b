"""Rules about shapes, formulas and numbers, on graphs built by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from building import Building, site
from whygrad.config import Config
from whygrad.engine import diagnose
from whygrad.finding import Finding
from whygrad.trace import Clear, Kind, Scaler
from whygrad.trace.facts import Facts


class Script(Building):
    """One network, one optimizer; `step` repeats an update so that things persist."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = self.parameter("net.weight")
        self.adam = self.optimizer("adam", self.weight)

    def shaped(self, number: int, *shape: int, facts: Facts | None = None, scalar: float | None = None) -> int:
        op = self.trace.graph[number]
        op.shape, op.facts, op.scalar = shape, facts, scalar
        return number

    def data(self, *shape: int, line: int = 2) -> int:
        return self.shaped(self.op("randn", line=line, kind=Kind.INPUT), *shape)

    def net(self, *shape: int, line: int = 10) -> int:
        return self.shaped(self.linear(self.weight, self.data(shape[0], 4), line=line), *shape)

    def step(self, loss: int, update: int = 0) -> None:
        self.trace.updates += 1
        backward = self.update(loss, self.adam)
        backward.update = update

    def codes(self) -> list[tuple[str, int]]:
        return [(f.code, f.site.line if f.site is not None else 0) for f in self.loud()]

    def loud(self) -> list[Finding]:
        return [f for f in diagnose(self.trace) if f.loud]


def regression(script: Script, prediction: tuple[int, ...], target: tuple[int, ...], out: tuple[int, ...]) -> None:
    difference = script.op("sub", script.net(*prediction), script.data(*target), line=12)
    square = script.op("pow", script.shaped(difference, *out), line=12)
    script.step(script.shaped(script.op("mean", script.shaped(square, *out), line=12)))


@pytest.mark.parametrize(
    ("prediction", "target", "out", "said"),
    [
        ((8,), (8,), (8,), []),
        ((8, 1), (8,), (8, 8), [("WG401", 12)]),
        ((8,), (8, 1), (8, 8), [("WG401", 12)]),
        ((8, 1), (1, 8), (8, 8), []),
        ((8, 1), (5,), (8, 5), []),
        ((8, 1), (8, 5), (8, 5), [("WG410", 12)]),
        ((8, 5), (8, 1), (8, 5), []),
        ((3, 8), (8,), (3, 8), []),
    ],
)
def test_shapes_that_meet(
    prediction: tuple[int, ...], target: tuple[int, ...], out: tuple[int, ...], said: list[tuple[str, int]]
) -> None:
    script = Script()
    regression(script, prediction, target, out)
    assert script.codes() == said


def chosen(script: Script, facts: Facts, *after: str) -> None:
    picked = script.op("__getitem__", script.net(8, 3), script.data(8), line=12)
    picked = script.shaped(picked, 8, 8, facts=facts)
    for name in after:
        picked = script.op(name, picked, line=13)
    script.step(script.op("mean", picked, line=14))


def test_columns_of_all_actions_are_not_one_value_per_row() -> None:
    script = Script()
    chosen(script, Facts(picks="columns"))
    assert script.codes() == [("WG407", 12)]


def test_the_diagonal_of_them_is() -> None:
    script = Script()
    chosen(script, Facts(picks="columns"), "diagonal")
    assert script.codes() == []


@pytest.mark.parametrize(
    ("shape", "facts", "said"),
    [
        ((8, 3), Facts(dim=0), [("WG402", 12)]),
        ((8, 3), Facts(dim=1), []),
        ((8, 1), Facts(dim=0), []),
        ((5, 8, 3), Facts(dim=0), []),
        ((5, 8, 3), Facts(dim=0, implied=True), [("WG402", 12)]),
    ],
)
def test_what_a_softmax_runs_over(shape: tuple[int, ...], facts: Facts, said: list[tuple[str, int]]) -> None:
    script = Script()
    softmax = script.shaped(script.op("log_softmax", script.net(*shape), line=12), *shape, facts=facts)
    script.step(script.op("mean", softmax, line=14))
    assert script.codes() == said


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("softmax", "log_softmax", [("WG403", 13)]),
        ("softmax", "logsumexp", [("WG403", 13)]),
        ("softmax", "nll_loss", [("WG403", 13)]),
        ("sigmoid", "binary_cross_entropy_with_logits", [("WG403", 13)]),
        ("log_softmax", "log_softmax", []),
        ("log_softmax", "softmax", []),
        ("sigmoid", "log_softmax", []),
    ],
)
def test_what_is_fed_to_what(first: str, second: str, said: list[tuple[str, int]]) -> None:
    script = Script()
    inner = script.shaped(script.op(first, script.net(8, 3), line=12), 8, 3, facts=Facts(dim=1))
    outer = script.shaped(script.op(second, inner, line=13), 8, 3, facts=Facts(dim=1))
    script.step(script.op("mean", outer, line=14))
    assert script.codes() == said


@pytest.mark.parametrize("around", [True, False])
def test_a_limit_matters_where_nothing_leads_around_it(around: bool) -> None:
    script = Script()
    for update in range(4):
        out = script.net(8, 1)
        limited = script.shaped(script.op("clamp", out, line=12), 8, 1, facts=Facts(killed=1.0))
        loss = script.op("add", limited, out, line=13) if around else limited
        script.step(script.op("mean", loss, line=14), update)
    assert script.codes() == ([] if around else [("WG405", 12)])


@pytest.mark.parametrize(("early", "late", "said"), [(1.0, 1.0, [("WG502", 12)]), (0.0, 1.0, []), (1.0, 0.1, [])])
def test_saturation_counts_when_it_was_there_from_the_start(
    early: float, late: float, said: list[tuple[str, int]]
) -> None:
    script = Script()
    for update in (0, 1, 2, 20, 40, 80):
        killed = early if update < 5 else late
        squashed = script.op("tanh", script.net(8, 1), line=12)
        script.step(script.op("mean", script.shaped(squashed, 8, 1, facts=Facts(killed=killed)), line=14), update)
    assert script.codes() == said


@pytest.mark.parametrize(
    ("since", "left", "said"), [(20, 0.0, [("WG502", 12)]), (20, 1e-9, []), (60, 0.0, []), (200, 0.0, [])]
)
def test_saturation_counts_when_it_stops_all_gradient_for_half_of_the_run(
    since: int, left: float, said: list[tuple[str, int]]
) -> None:
    script = Script()
    critic = script.parameter("critic.weight")
    for update in (0, 1, 2, 20, 40, 60, 80):
        killed = float(update >= since)
        squashed = script.op("tanh", script.net(8, 1), line=12)
        value = script.linear(critic, script.shaped(squashed, 8, 1, facts=Facts(killed=killed)), line=13)
        script.step(script.op("mean", script.shaped(value, 8, 1), line=14), update)
        script.trace.backwards[-1].largest = {0: left if killed else 0.1, 1: 0.2}
    script.trace.updates = 90
    assert [found for found in script.codes() if found[0] == "WG502"] == said


@pytest.mark.parametrize(
    ("killed", "inverse", "said"), [(0.6, "atanh", [("WG504", 14)]), (0.0, "atanh", []), (0.6, "exp", [])]
)
def test_a_gradient_that_grew_by_a_sample_recovered_from_its_squashed_action(
    killed: float, inverse: str, said: list[tuple[str, int]]
) -> None:
    script = Script()
    for update, size in enumerate((60.0, 7.0, 130.0, 900.0, 1e4, 2e5, 1.9e5)):
        action = script.shaped(script.op("tanh", script.net(8, 2), line=12), 8, 2)
        limited = script.shaped(script.op("clamp", action, line=13), 8, 2, facts=Facts(killed=killed))
        recovered = script.shaped(script.op(inverse, limited, line=14), 8, 2)
        script.step(script.op("mean", recovered, line=15), update)
        script.trace.backwards[-1].largest = {0: size}
    assert script.codes() == said


@pytest.mark.parametrize(("last", "said"), [(0b1111, [("WG501", 12)]), (0b0111, [])])
def test_units_are_dead_when_they_stay_so(last: int, said: list[tuple[str, int]]) -> None:
    script = Script()
    head = script.parameter("net.head")
    script.trace.optimizers[0].parameters = (0, 1)
    for update in (0, 1, 20, 40):
        facts = Facts(killed=1.0, dead=0b1111 if update < 40 else last, units=4)
        hidden = script.shaped(script.op("relu", script.net(8, 4), line=12), 8, 4, facts=facts)
        out = script.shaped(script.linear(head, hidden, line=13), 8, 1)
        script.step(script.op("mean", out, line=14), update)
    assert script.codes() == said


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([1, 1, 2, 1, 50, 90], []),
        ([1, 1, 2, 1e3, 1e5, 1e7], [("WG504", 12)]),
        ([1, 1, 2, 1e7, 1e5, 1e4], []),
        ([1e5, 1e5, 1e5, 1e5, 1e5, 1e5], []),
    ],
)
def test_growth_counts_not_size(sizes: list[float], said: list[tuple[str, int]]) -> None:
    script = Script()
    for update, size in enumerate(sizes):
        script.step(script.op("mean", script.net(8, 1), line=12), update)
        backward = script.trace.backwards[-1]
        backward.largest, backward.made = {0: size}, site(12)
    assert script.codes() == said


def test_what_counts_as_growth_is_the_projects_choice() -> None:
    script = Script()
    for update, size in enumerate([1, 1, 2, 1e3, 1e5, 1e7]):
        script.step(script.op("mean", script.net(8, 1), line=12), update)
        script.trace.backwards[-1].largest = {0: size}
    assert script.codes() == [("WG504", 20)]
    for name, value in (("growth", 1e8), ("large", 1e8), ("still", 200.0), ("first", 9.0)):
        found = diagnose(script.trace, Config(thresholds={"WG504": {name: value}}))
        assert not [finding for finding in found if finding.loud]


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([1, 1, 2, 20, 40, 60], ["note"]),
        ([1, 1, 2, 40, 60, 61], []),
        ([1, 1, 2, 10, 15, 20], []),
        ([0.01, 0.01, 0.01, 0.2, 0.4, 0.6], []),
        ([1, 1, 2, 1e3, 1e5, 1e7], ["error"]),
    ],
)
def test_what_still_grows_is_noted(sizes: list[float], said: list[str]) -> None:
    script = Script()
    for update, size in enumerate(sizes):
        script.step(script.op("mean", script.net(8, 1), line=12), update)
        script.trace.backwards[-1].largest = {0: size}
    assert [finding.severity for finding in diagnose(script.trace)] == said


@pytest.mark.parametrize(
    ("start", "end", "calls", "said"),
    [
        (65536.0, 2.0**-20, 40, ["error"]),
        (65536.0, 0.0, 500, ["error"]),
        (65536.0, 2.0**-6, 400, ["warning"]),
        (65536.0, 128.0, 400, []),
        (65536.0, 65536.0 * 8, 8000, []),
        (0.125, 2.0**-6, 400, []),
    ],
)
def test_a_loss_scale_that_collapsed(start: float, end: float, calls: int, said: list[str]) -> None:
    script = Script()
    script.step(script.op("mean", script.net(8, 1), line=12))
    script.trace.scalers.append(Scaler(site(15), start, end, 0.5, calls))
    assert [(f.code, f.severity) for f in script.loud()] == [("WG507", severity) for severity in said]


def test_gradients_that_overflowed_are_meant_to_be_cleared() -> None:
    script = Script()
    loss = script.op("mean", script.net(8, 1), line=12)
    for update in range(6):
        script.step(loss, update)
        backward = script.trace.backwards[-1]
        if update < 4:
            script.trace.steps.pop()
            script.trace.clears.append(Clear(site(11), frozenset({0}), backward.order + 1, {0: (backward.id,)}))
            backward.largest = {0: math.inf}
    assert script.codes() == []
    for backward in script.trace.backwards:
        backward.largest = {0: 1.0}
    assert script.codes() == [("WG303", 11)]


@pytest.mark.parametrize("moved", [True, False])
def test_weights_of_zero_matter_while_nothing_moves(moved: bool) -> None:
    script = Script()
    for update in range(5):
        score = script.op("log_softmax", script.net(8, 3), line=12)
        product = script.op("mul", score, script.data(8, 3), line=13)
        script.step(script.op("mean", script.shaped(product, 8, 3, facts=Facts(nothing=1)), line=14), update)
    script.trace.parameters[0].moved = moved
    assert script.codes() == ([] if moved else [("WG506", 13)])


def test_the_first_nan_is_named_and_what_follows_is_not() -> None:
    script = Script()
    out = script.net(8, 1)
    ratio = script.shaped(script.op("div", out, script.data(8, 1), line=12), 8, 1, facts=Facts(special="nan"))
    total = script.shaped(script.op("mean", ratio, line=13), facts=Facts(special="nan"))
    script.step(total)
    script.trace.backwards[-1] = replace(script.trace.backwards[-1], value=float("nan"))
    assert script.codes() == [("WG505", 12)]


def test_infinity_that_a_mask_put_there_is_no_finding() -> None:
    script = Script()
    masked = script.shaped(script.op("masked_fill", script.net(8, 3), line=12), 8, 3, facts=Facts(special="inf"))
    softmax = script.shaped(script.op("softmax", masked, line=13), 8, 3, facts=Facts(dim=1))
    script.step(script.op("mean", softmax, line=14))
    script.trace.backwards[-1] = replace(script.trace.backwards[-1], value=0.5)
    assert script.codes() == []


def bootstrapping(
    script: Script, size: float, reward: float, update: int, discount: float = 0.99, computed: bool = False
) -> None:
    """One update of a value against a reward, given or computed, and its own discounted estimate."""
    prediction = script.net(16, 1)
    estimate = script.op("detach", script.net(16, 1), line=11, kind=Kind.DETACH)
    discounted = script.shaped(script.op("mul", estimate, line=11), 16, 1, scalar=discount)
    reward_op = script.shaped(script.data(16, 1), 16, 1, facts=Facts(largest=reward))
    if computed:
        reward_op = script.shaped(script.op("cos", reward_op, line=10), 16, 1)
    added = Facts(addends=(reward, size)) if computed else None
    target = script.shaped(script.op("add", reward_op, discounted, line=11), 16, 1, facts=added)
    loss = script.shaped(script.op("mse_loss", prediction, target, line=12), facts=Facts(typical=size))
    script.step(loss, update)


@pytest.mark.parametrize(
    ("sizes", "reward", "said"),
    [
        ((1.0, 2e3, 4e3, 8e3), 1.0, [("WG804", 12)]),
        ((1.0, 2e3, 4e3, 8e3), 10.0, []),
        ((1.0, 2e3, 4e3, 8e3), 0.0, []),
        ((1.0, 8e3, 8.1e3, 8.2e3), 1.0, []),
        ((2e3, 8e3), 1.0, []),
    ],
)
def test_values_beyond_every_sum_of_rewards(
    sizes: tuple[float, ...], reward: float, said: list[tuple[str, int]]
) -> None:
    script = Script()
    for number, size in enumerate(sizes):
        bootstrapping(script, size, reward, 20 * 2**number)
    assert script.codes() == said


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(("discount", "said"), [(0.9, [("WG804", 12)]), (0.999, [])])
def test_how_far_values_may_go_depends_on_the_discount(
    discount: float, said: list[tuple[str, int]], computed: bool
) -> None:
    script = Script()
    for number, size in enumerate((1.0, 100.0, 200.0, 400.0)):
        bootstrapping(script, size, 1.0, 20 * 2**number, discount, computed)
    assert script.codes() == said
